import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuthSession } from '#schemas/auth/session.ts'
import { html } from '#src/lib/html.ts'
import { normalizeEmail } from '../people/email.ts'
import { CONFIRM_PAGE as CONFIRM } from '../sign-in/account-mails.ts'
import { confirmedByAddress, confirmedByLink, kindsSentTo } from '../sign-in/one-time-tokens.ts'
import { callRoute, refusalOf, type Refused } from './call-route.ts'
import { alarm, field, form, link, notice, show } from './page-elements.ts'
import { explain, minutesOf, settleRefusal } from './show-error.ts'
import { formPage, page, PageQuery } from './page-route.ts'
import { fill, type TextKey, type Texts } from './page-texts.ts'
import { backToAccount, beginVisit, needsPassword, PASSWORD } from './page-visitor.ts'

const FORGOT = '/auth/recupera'

/** The page of a link: title, text and button, by the type in its URL. */
const KINDS: ReadonlyMap<string, readonly [TextKey, TextKey, TextKey]> = new Map([
  ['invite', ['inviteTitle', 'inviteText', 'accept']],
  ['recovery', ['recoveryTitle', 'recoveryText', 'continue']],
  ['magiclink', ['magicTitle', 'magicText', 'signIn']]
])
const CONFIRMATION = ['confirmTitle', 'confirmText', 'confirm'] as const

const LinkQuery = Type.Object({
  token: Type.Optional(Type.String({ maxLength: 200 })), type: Type.Optional(Type.String({ maxLength: 20 }))
})

const mailPages: FastifyPluginAsyncTypebox = async (app) => {
  const { db, identity: { keys } } = app

  // Mail scanners also open links, so only the button consumes the link.
  app.get(CONFIRM, page('getConferma', 'La pagina del collegamento di una e-mail', {
    querystring: LinkQuery
  }), async (request, reply) => {
    const { token, type = '' } = request.query
    if (token === undefined) return showCode(request, reply)
    const confirmed = await confirmedByLink(db, keys, token)
    return confirmed ? showWaiting(request, reply, confirmed) : showLink(request, reply, { token, type })
  })

  app.post(CONFIRM, formPage(
    'postConferma', 'Conferma con il collegamento di una e-mail', ['token', 'type']
  ), async (request, reply) => {
    const { token: token_hash = '', type = '' } = request.body
    try {
      return await prove(request, reply, { type, token_hash })
    } catch (err) {
      const refused = refusalOf(err)
      // The person, or a mail scanner, has pressed the button before.
      const confirmed = await confirmedByLink(db, keys, token_hash)
      if (confirmed) return showWaiting(request, reply, confirmed)
      return showLink(request, reply, { token: token_hash, type }, refused)
    }
  })

  app.post(`${CONFIRM}/codice`, formPage(
    'postCodice', 'Conferma con il codice di una e-mail', ['email', 'code']
  ), async (request, reply) => await proveCode(request, reply, request.body.email ?? '', request.body.code ?? ''))

  app.get(FORGOT, page('getRecupera', 'La pagina per una password dimenticata', {
    querystring: PageQuery
  }), async (request, reply) => {
    if (request.query.esito !== 'inviata') return showForgot(request, reply)
    return show(request, reply, (texts) => ({
      title: texts.forgotTitle,
      content: html`${notice(texts.sent)}${link(CONFIRM, texts.enterCode)}${link('/auth/', texts.signIn)}`
    }))
  })

  app.post(FORGOT, formPage(
    'postRecupera', 'Chiede l’e-mail per scegliere un’altra password', ['email']
  ), async (request, reply) => {
    const { email = '' } = request.body
    try {
      await callRoute(request, { method: 'POST', url: '/auth/v1/recover', payload: { email: email.trim() } })
      return await reply.redirect(`${FORGOT}?esito=inviata`, 303)
    } catch (err) {
      return showForgot(request, reply, { email, refused: refusalOf(err) })
    }
  })
}
export default mailPages

interface Attempt { email?: string, refused?: Refused }

async function proveCode (
  request: FastifyRequest, reply: FastifyReply, email: string, code: string
): Promise<FastifyReply> {
  // A typed code does not show the purpose of its mail.
  const kinds = await kindsSentTo(request.server.db, normalizeEmail(email))
  const type = kinds[0]?.startsWith('email_change') ? 'email_change' : 'email'
  const proof = { type, email: email.trim(), token: code.trim() }
  try {
    return await prove(request, reply, proof, kinds.includes('recovery'))
  } catch (err) {
    return showCode(request, reply, { email, refused: refusalOf(err) })
  }
}

async function prove (
  request: FastifyRequest,
  reply: FastifyReply,
  payload: { type: string, email?: string, token?: string, token_hash?: string },
  isRecovery = payload.type === 'recovery'
): Promise<FastifyReply> {
  const { db, identity: { keys } } = request.server
  const response = await callRoute<AuthSession | { msg: string }>(request, {
    method: 'POST', url: '/auth/v1/verify', payload
  })
  // After a change of address, the other address must confirm, unless it has confirmed meanwhile.
  if ('msg' in response) {
    const { email = '', token_hash } = payload
    const confirmed = token_hash === undefined
      ? await confirmedByAddress(db, normalizeEmail(email))
      : await confirmedByLink(db, keys, token_hash)
    return confirmed ? showWaiting(request, reply, confirmed) : await reply.redirect('/auth/', 303)
  }
  const visitor = await beginVisit(request, reply, response)
  const isForPassword = isRecovery || needsPassword(visitor)
  return isForPassword ? await reply.redirect(PASSWORD, 303) : await backToAccount(reply, 'indirizzo')
}

function showWaiting (request: FastifyRequest, reply: FastifyReply, confirmed: 'current' | 'new'): FastifyReply {
  return show(request, reply, (texts) => ({
    title: texts.waitingTitle,
    content: html`<p>${texts[confirmed === 'current' ? 'waitingForNew' : 'waitingForCurrent']}</p>\n`
  }))
}

/** The page of a link. A refused link is void, except after a 429 or 5xx, when the link was not looked up. */
function showLink (
  request: FastifyRequest, reply: FastifyReply, { token, type }: { token: string, type: string }, refused?: Refused
): FastifyReply {
  if (refused) settleRefusal(refused, request, reply)
  return show(request, reply, (texts) => {
    const [title, text, button] = KINDS.get(type) ?? CONFIRMATION
    const take = html`<p>${texts[text]}</p>
${form({ action: CONFIRM, button: texts[button], values: { token, type } })}`
    const others = html`${link(FORGOT, texts.forgot)}${link(CONFIRM, texts.enterCode)}`
    return {
      title: texts[title],
      isFaulty: refused !== undefined,
      content: html`${alarm(refused && explain(refused, texts, 'linkOver'))}${
        refused && refused.status < 429 ? others : take}`
    }
  })
}

function showCode (request: FastifyRequest, reply: FastifyReply, { email, refused }: Attempt = {}): FastifyReply {
  if (refused) settleRefusal(refused, request, reply)
  return show(request, reply, (texts) => ({
    title: texts.enterCode,
    isFaulty: refused !== undefined,
    content: html`${form({
      action: `${CONFIRM}/codice`,
      button: texts.confirm,
      content: [
        field({ name: 'email', label: texts.email, type: 'email', autocomplete: 'username', value: email }),
        field({
          name: 'code',
          label: texts.mailCode,
          autocomplete: 'one-time-code',
          isNumeric: true,
          error: refused && explainCode(refused, texts)
        })
      ]
    })}${link(FORGOT, texts.forgot)}${link('/auth/', texts.signIn)}`
  }))
}

/**
 * Strangers who know an address can use up the attempts on its codes for an hour. The link in the same mail still
 * works, so the page always mentions the link. The text does not reveal whether a code was void or wrong.
 */
function explainCode (refused: Refused, texts: Texts): string {
  if (refused.status === 429) return fill(texts.tooManyCodes, minutesOf(refused))
  return refused.code === 'otp_expired' ? texts.codeOver : explain(refused, texts, 'linkOver')
}

function showForgot (request: FastifyRequest, reply: FastifyReply, { email, refused }: Attempt = {}): FastifyReply {
  if (refused) settleRefusal(refused, request, reply)
  return show(request, reply, (texts) => {
    const error = refused && explain(refused, texts, 'badAddress')
    const address = field({
      name: 'email', label: texts.email, type: 'email', autocomplete: 'username', value: email, error
    })
    return {
      title: texts.forgotTitle,
      isFaulty: refused !== undefined,
      content: html`<p>${texts.forgotText}</p>
${form({ action: FORGOT, button: texts.sendLink, content: address })}${link('/auth/', texts.signIn)}`
    }
  })
}
