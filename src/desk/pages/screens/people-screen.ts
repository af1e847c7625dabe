import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Uuid } from '#schemas/auth/uuid.ts'
import type { AuthUser } from '#schemas/auth/user.ts'
import type { ErrorBody } from '#schemas/common.ts'
import { html, type Html } from '#src/lib/html.ts'
import type { Clock } from '#src/lib/time.ts'
import { ACCOUNT, CONFIRM_PAGE, isAdmin, isStaff } from '#src/identity/index.ts'
import { actionForm, attemptAfter, formFor, submitForm } from '../desk-form.ts'
import { alarm, buttonLink, chip, NOTHING, refusalAlarm, showDesk } from '../desk-layout.ts'
import {
  deskPage, deskPost, fill, instantText, isAdministrator, openDesk, type Desk, type DeskOptions
} from '../desk-page.ts'
import type { Attempt, DeskField, FieldShape, Values } from '../field-types.ts'
import { peopleTexts, REFUSALS } from '../texts/people-texts.ts'
import { SETTINGS } from './account-state.ts'

export const PEOPLE = `${SETTINGS}/utenti`
const PERSON = `${PEOPLE}/:id`
const API = '/auth/v1/admin/users'
/** Maximum people on the page, which is also the maximum of the API. */
const MAX_LIST_LENGTH = 1000
/** A hundred years, because the protocol has no ban without an end. */
const BAN = '876000h'

const pageOf = (id: string) => PERSON.replace(':id', id)

/** The people with access: invite, change the role, ban and delete. Only for administrators. */
const peopleScreen: FastifyPluginAsyncTypebox<DeskOptions> = async (app, { clock }) => {
  const params = { params: Type.Object({ id: Uuid }) }

  app.get(PEOPLE, deskPage('getPaginaUtenti', 'Le persone che hanno accesso'), async (request, reply) =>
    await showPeople(await openDesk(request, reply), clock))

  app.post(PEOPLE, deskPost('postPaginaInvito', 'Invita una persona'), async (request, reply) => {
    const { email = '', ruolo = 'operator' } = request.body
    return await inviteAnd(request, reply, { email: email.trim(), role: ruolo }, async (desk, attempt) =>
      await showPeople(desk, clock, attempt))
  })

  app.get(PERSON, deskPage('getPaginaUtente', 'Una persona', params), async (request, reply) =>
    await showPerson(await openDesk(request, reply), clock, request.params.id))

  /** A form of a person's page, which calls the route of the user with `payload`. */
  const form = (path: string, [operationId, summary]: [string, string], parts: {
    method: 'PUT' | 'DELETE', payload: (values: Values) => object, redirectTo?: string
  }) => {
    app.post(PERSON + path, deskPost(operationId, summary, params), async (request, reply) => {
      const { id } = request.params
      const desk = await openDesk(request, reply)
      // Administrators cannot remove their own rights by mistake.
      if (id === desk.visitor.user.id) return await showPerson(desk, clock, id)
      return await submitForm(request, reply, {
        fields: [ROLE],
        call: (_payload, values) => ({ method: parts.method, url: `${API}/${id}`, payload: parts.payload(values) }),
        redirectTo: parts.redirectTo ?? `${pageOf(id)}?esito=salvato`,
        showAgain: async (desk, attempt) => await showPerson(desk, clock, id, attempt)
      })
    })
  }
  form('', ['postPaginaRuolo', 'Cambia il ruolo di una persona'], {
    method: 'PUT',
    payload: ({ ruolo }) => ({ app_metadata: { role: ruolo === 'admin' ? ruolo : 'operator', roles: null } })
  })
  form('/sospendi', ['postPaginaSospendi', 'Toglie l’accesso a una persona'], {
    method: 'PUT', payload: () => ({ ban_duration: BAN })
  })
  form('/riammetti', ['postPaginaRiammetti', 'Ridà l’accesso a una persona'], {
    method: 'PUT', payload: () => ({ ban_duration: 'none' })
  })
  form('/elimina', ['postPaginaEliminaUtente', 'Elimina una persona'], {
    method: 'DELETE', payload: () => ({}), redirectTo: `${PEOPLE}?esito=eliminato`
  })

  app.post(`${PERSON}/invito`, deskPost('postPaginaNuovoInvito', 'Invita di nuovo una persona', params),
    async (request, reply) => {
      const { id } = request.params
      const desk = await openDesk(request, reply)
      const { body: { email } } = await desk.call<AuthUser>({ method: 'GET', url: `${API}/${id}` })
      return await inviteAnd(request, reply, { email }, async (shown, attempt) =>
        await showPerson(shown, clock, id, attempt))
    })
}
export default peopleScreen

interface Invitation {
  email: string
  /** If it is missing, the person keeps the role. */
  role?: string
}

/**
 * Invites a person by mail. Without a mail server it shows the link, which the administrator passes on.
 * @param showAgain shows the page of the form with the refusal
 */
async function inviteAnd (
  request: FastifyRequest, reply: FastifyReply, invitation: Invitation,
  showAgain: (desk: Desk, attempt: Attempt) => Promise<FastifyReply>
): Promise<FastifyReply> {
  const desk = await openDesk(request, reply)
  try {
    const link = await invite(desk, invitation)
    return link === undefined
      ? await reply.redirect(`${PEOPLE}?esito=inviato`, 303)
      : showLink(desk, invitation.email, link)
  } catch (err) {
    return await showAgain(desk, attemptAfter(err, request, reply))
  }
}

/** @returns the link of the invitation when no mail can be sent */
async function invite (desk: Desk, { email, role }: Invitation): Promise<string | undefined> {
  const payload = { email, data: { lingua: desk.language } }
  const { body } = await desk.call<AuthUser & { hashed_token?: string }>(desk.request.server.mail.configured
    ? { method: 'POST', url: '/auth/v1/invite', payload }
    : { method: 'POST', url: '/auth/v1/admin/generate_link', payload: { ...payload, type: 'invite' } })
  // An invited person is an operator.
  if (role === 'admin') {
    await desk.call({ method: 'PUT', url: `${API}/${body.id}`, payload: { app_metadata: { role } } })
  }
  const { hashed_token: token } = body
  if (token === undefined) return undefined
  const { PUBLIC_URL } = desk.request.server.identity.config
  return `${PUBLIC_URL}${CONFIRM_PAGE}?${new URLSearchParams({ token, type: 'invite' }).toString()}`
}

function showLink (desk: Desk, email: string, link: string): FastifyReply {
  const texts = peopleTexts[desk.language]
  return showDesk(desk, {
    title: texts.linkTitle,
    actions: buttonLink(PEOPLE, texts.back),
    content: html`<p>${fill(texts.linkText, email)}</p>
<p class="panel"><code>${link}</code></p>
<p class="hint">${texts.linkHint}</p>`
  })
}

async function showPeople (desk: Desk, clock: Clock, attempt?: Attempt): Promise<FastifyReply> {
  if (!await isAdministrator(desk)) return refuse(desk)
  const texts = peopleTexts[desk.language]
  const url = `${API}?per_page=${MAX_LIST_LENGTH}&sort=created_at%20asc`
  const { body: { users } } = await desk.call<{ users: AuthUser[] }>({ method: 'GET', url })
  const worded = attempt && inWords(desk, attempt)
  return showDesk(desk, {
    title: texts.title,
    isFaulty: attempt !== undefined,
    actions: buttonLink(SETTINGS, texts.settings),
    content: html`<ol class="rows timed">
${users.filter(({ deleted_at: end }) => end === undefined).map((user) => personRow(desk, clock, user))}</ol>
<section aria-labelledby="invito"><h2 id="invito">${texts.invite}</h2>
<p>${desk.request.server.mail.configured ? texts.inviteText : texts.noMail}</p>
${formFor(desk, {
  action: PEOPLE,
  button: texts.inviteNow,
  fields: [{ name: 'email', label: texts.email, type: 'email', isRequired: true }, ...roleField(desk)],
  attempt: worded ?? { values: { ruolo: 'operator' } }
})}</section>`
  })
}

function personRow (desk: Desk, clock: Clock, user: AuthUser): Html {
  const texts = peopleTexts[desk.language]
  const { id, email, last_sign_in_at: last } = user
  const seen = last === undefined ? texts.neverSeen : fill(texts.lastSeen, instantText(desk, last))
  return html`<li><span class="unit">${roleName(desk, user)}</span>
<a class="who" href="${pageOf(id)}">${email}<small>${seen}</small></a>
<span class="chips">${stateChips(desk, clock, user)}</span>
${buttonLink(pageOf(id), texts.open, { about: email })}</li>
`
}

function roleName ({ language }: Desk, { app_metadata: rights }: AuthUser): string {
  const texts = peopleTexts[language]
  return isAdmin(rights) ? texts.admin : isStaff(rights) ? texts.operator : texts.noRole
}

function isBanned ({ banned_until: until }: AuthUser, clock: Clock): boolean {
  return until !== undefined && new Date(until) > clock.now()
}

function stateChips (desk: Desk, clock: Clock, user: AuthUser): Html[] {
  const texts = peopleTexts[desk.language]
  return [
    user.id === desk.visitor.user.id ? chip(texts.you) : NOTHING,
    isBanned(user, clock) ? chip(texts.banned, 'need') : NOTHING,
    user.email_confirmed_at === undefined
      ? chip(user.invited_at === undefined ? texts.unconfirmed : texts.invited, 'need')
      : NOTHING,
    user.factors?.some(({ status }) => status === 'verified') ? chip(texts.secondFactor, 'ok') : NOTHING
  ]
}

async function showPerson (desk: Desk, clock: Clock, id: string, attempt?: Attempt): Promise<FastifyReply> {
  if (!await isAdministrator(desk)) return refuse(desk)
  const texts = peopleTexts[desk.language]
  const { body: user } = await desk.call<AuthUser>({ method: 'GET', url: `${API}/${id}` })
  const isOwn = id === desk.visitor.user.id
  return showDesk(desk, {
    title: user.email,
    isFaulty: attempt !== undefined,
    actions: buttonLink(PEOPLE, texts.back),
    content: html`<p class="chips">${stateChips(desk, clock, user)}</p>
${isOwn
  ? html`<p>${roleName(desk, user)}. ${texts.ownAccount}</p><p>${buttonLink(ACCOUNT, texts.account)}</p>`
  : personForms(desk, user, isBanned(user, clock), attempt)}`
  })
}

function personForms (desk: Desk, user: AuthUser, isOut: boolean, attempt?: Attempt): Html {
  const texts = peopleTexts[desk.language]
  const page = pageOf(user.id)
  const role = isAdmin(user.app_metadata) ? 'admin' : isStaff(user.app_metadata) ? 'operator' : ''
  const refusal = attempt && inWords(desk, attempt).refusal
  return html`${refusalAlarm(desk, refusal)}${
    formFor(desk, { action: page, button: texts.save, fields: roleField(desk), attempt: { values: { ruolo: role } } })}
${user.email_confirmed_at === undefined
  ? html`<h2>${texts.invite}</h2><p>${texts.inviteAgainText}</p>${
    actionForm(desk, { action: `${page}/invito`, button: texts.inviteAgain })}`
  : NOTHING}
<h2>${texts.access}</h2>
<p>${isOut ? texts.banText : texts.accessText}</p>
${isOut
  ? actionForm(desk, { action: `${page}/riammetti`, button: texts.readmit })
  : actionForm(desk, { action: `${page}/sospendi`, button: texts.ban })}
<details><summary>${texts.remove}</summary><p>${texts.removeText}</p>
${actionForm(desk, { action: `${page}/elimina`, button: texts.removeNow })}</details>`
}

/** The page for a person who is not an administrator. */
function refuse (desk: Desk): FastifyReply {
  const texts = peopleTexts[desk.language]
  return showDesk(desk, {
    title: texts.title,
    isFaulty: true,
    status: 403,
    actions: buttonLink(SETTINGS, texts.settings),
    content: alarm(texts.administrator)
  })
}

/** Adds the text for the refusal's code to an attempt. The e-mail field shows errors about the e-mail address. */
function inWords ({ language }: Desk, { values, refusal }: Attempt): Attempt {
  const text = REFUSALS[language][refusal?.codice ?? '']
  if (refusal === undefined || text === undefined) return { values, ...refusal && { refusal } }
  const worded: ErrorBody = { ...refusal, error: text }
  const error = { campo: 'email', messaggio: text }
  const isOfAddress = ADDRESS_ERRORS.includes(refusal.codice)
  return { values, refusal: worded, ...isOfAddress && { errors: new Map([['email', error]]) } }
}

const ADDRESS_ERRORS = ['validation_failed', 'email_exists']

const ROLE: FieldShape = { name: 'ruolo', type: 'select', isRequired: true }

function roleField ({ language }: Desk): DeskField[] {
  const texts = peopleTexts[language]
  const options = [{ value: 'operator', label: texts.operator }, { value: 'admin', label: texts.admin }]
  return [{ ...ROLE, label: texts.role, options, hint: texts.roleHint }]
}
