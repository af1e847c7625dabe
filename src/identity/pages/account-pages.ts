import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { html } from '#src/lib/html.ts'
import type { PersonPrincipal } from '../directory.ts'
import { ofType } from '../factors/factor-store.ts'
import { countCodes } from '../factors/recovery-code-routes.ts'
import { listPasskeys, presentPasskey } from '../factors/webauthn/credentials.ts'
import { isLanguage } from '../languages.ts'
import { listKeys } from '../keys/key-store.ts'
import { recordOf } from '../audit-record.ts'
import { endSessions } from '../sign-in/person-sessions.ts'
import { isUuid } from '../uuid.ts'
import { factorList, identityList, keyList, mailLanguage, passkeyList, sessionList, wordingOf } from './account-view.ts'
import { continueForm } from './app-pages.ts'
import { callRoute, type RouteCall } from './call-route.ts'
import { ADD_PASSKEY, asksDevices } from './device-forms.ts'
import { appOf } from './page-cookies.ts'
import { alarm, form, link, NOTHING, notice, show } from './page-elements.ts'
import { formPage, page, PageQuery } from './page-route.ts'
import { fill, type TextKey } from './page-texts.ts'
import {
  ACCOUNT, ADMINISTRATION, backToAccount, DESK, LINK, NO_FACTOR, OPEN_ADMINISTRATION, PASSWORD, requireVisitor, SIGN_OUT
} from './page-visitor.ts'

/** The confirmations that the page can show, by the word in its URL. */
const DONE: ReadonlyMap<string, TextKey> = new Map([
  ['fatto', 'done'], ['password', 'passwordSaved'], ['indirizzo', 'addressConfirmed']
])

/** A form of the account page. It calls one route, and returns to the account page. */
interface AccountForm {
  url: string
  names: readonly [operationId: string, summary: string]
  fields: readonly string[]
  routeCall (fields: Readonly<Record<string, string | undefined>>): RouteCall
}

const FORMS: readonly AccountForm[] = [{
  url: `${ACCOUNT}/sessioni/altre`,
  names: ['postAltreSessioni', 'Chiude le altre sessioni'],
  fields: [],
  routeCall: () => ({ method: 'POST', url: '/auth/v1/logout?scope=others', payload: {} })
}, {
  url: `${ACCOUNT}/lingua`,
  names: ['postLingua', 'Sceglie la lingua delle e-mail'],
  fields: ['lingua'],
  routeCall: ({ lingua }) => (
    { method: 'PUT', url: '/auth/v1/user', payload: { data: isLanguage(lingua) ? { lingua } : {} } }
  )
}, {
  url: `${ACCOUNT}/fattori/rimuovi`,
  names: ['postRimuoviFattore', 'Rimuove un secondo fattore'],
  fields: ['id'],
  // Recovery codes alone are not a second factor, so they are removed with the last other factor.
  routeCall: ({ id }) => ({ method: 'DELETE', url: `${below('/auth/v1/factors', id)}?rimuovi_codici=true` })
}, {
  url: `${ACCOUNT}/fattori/rinomina`,
  names: ['postRinominaFattore', 'Dà un nome a un secondo fattore'],
  fields: ['id', 'name'],
  routeCall: ({ id, name: friendly_name = '' }) => (
    { method: 'PATCH', url: below('/auth/v1/factors', id), payload: { friendly_name } }
  )
}, {
  url: `${LINK}/scollega`,
  names: ['postScollega', 'Scollega un accesso'],
  fields: ['id'],
  routeCall: ({ id }) => ({ method: 'DELETE', url: below('/auth/v1/user/identities', id) })
}, {
  url: `${ACCOUNT}/chiavi/revoca`,
  names: ['postRevocaChiave', 'Revoca una chiave API'],
  fields: ['id'],
  routeCall: ({ id }) => ({ method: 'DELETE', url: below('/api/v1/keys', id) })
}]

const PASSKEY_FORMS: readonly AccountForm[] = [{
  url: `${ADD_PASSKEY}/rimuovi`,
  names: ['postRimuoviPasskey', 'Elimina una passkey'],
  fields: ['id'],
  routeCall: ({ id }) => ({ method: 'DELETE', url: below('/auth/v1/passkeys', id) })
}, {
  url: `${ADD_PASSKEY}/rinomina`,
  names: ['postRinominaPasskey', 'Dà un nome a una passkey'],
  fields: ['id', 'name'],
  routeCall: ({ id, name: friendly_name = '' }) => (
    { method: 'PATCH', url: below('/auth/v1/passkeys', id), payload: { friendly_name } }
  )
}]

function below (url: string, id = ''): string {
  return `${url}/${encodeURIComponent(id)}`
}

const accountPages: FastifyPluginAsyncTypebox = async (app) => {
  app.get(ACCOUNT, page('getAccount', 'La pagina del proprio account', {
    querystring: PageQuery
  }), async (request, reply) => await showAccount(request, reply, request.query.esito))

  for (const { url, names: [id, summary], fields, routeCall } of accountForms(asksDevices(app.identity.config))) {
    app.post(url, formPage(id, summary, fields), async (request, reply) => {
      const { token } = await requireVisitor(request)
      await callRoute(request, { token, ...routeCall(request.body) })
      return await backToAccount(reply)
    })
  }

  app.post(OPEN_ADMINISTRATION, formPage(
    'postApriAmministrazione', 'Apre le pagine degli amministratori', []
  ), async (request, reply) => {
    const { token } = await requireVisitor(request)
    await callRoute(request, { method: 'POST', url: '/api/admin/grant-cookie', token, payload: {} }, reply)
    return await reply.redirect(ADMINISTRATION, 303)
  })

  app.post(`${ACCOUNT}/sessioni/chiudi`, formPage(
    'postSessione', 'Chiude una sessione', ['id']
  ), async (request, reply) => {
    const { caller } = await requireVisitor(request)
    await endOwnSession(request, caller, request.body.id ?? '')
    return await backToAccount(reply)
  })
}
export default accountPages

function accountForms (hasDevices: boolean): readonly AccountForm[] {
  return hasDevices ? [...FORMS, ...PASSKEY_FORMS] : FORMS
}

async function showAccount (request: FastifyRequest, reply: FastifyReply, word = ''): Promise<FastifyReply> {
  const { db, identity: { authenticator, config, directory } } = request.server
  const [frontEnd] = config.CORS_ORIGINS
  const hasDevices = asksDevices(config)
  const { user, caller } = await requireVisitor(request, ['enrolment'])
  const isProven = caller.lacks === undefined
  const codes = ofType(user.factors, 'recovery_code')
  const [sessions, keys, passkeys, left, isAdmin] = await Promise.all([
    directory.sessions(caller), listKeys(db, user.id), listPasskeys(db, user.id), codes && countCodes(db, codes.id),
    isProven && authenticator.isAdmin(caller, request)
  ])
  const appRequest = isProven ? appOf(request) : undefined
  const done = DONE.get(word)
  const { lingua } = user.user_metadata
  return show(request, reply, (texts, language) => {
    const wording = wordingOf(texts, language, hasDevices)
    const factors = factorList(user.factors, left?.remaining, wording)
    const ownPasskeys = hasDevices ? passkeyList(passkeys.map(presentPasskey), wording) : NOTHING
    const others = html`${ownPasskeys}${sessionList(sessions, wording)}${
      identityList(user.identities, config.OAUTH_PROVIDERS, wording)}${
      keyList(keys, wording)}${mailLanguage(user, wording)}`
    return {
      title: texts.account,
      content: html`${notice(done && texts[done])}${
        alarm(isProven && word !== NO_FACTOR ? undefined : texts.mustEnrol)}${
        notice(caller.pending ? texts.pendingAccount : undefined)}<p>${fill(texts.signedInAs, user.email)}</p>
${appRequest === undefined ? NOTHING : continueForm(appRequest, texts)}${
  isProven ? link(DESK, texts.openDesk) : NOTHING}${
  frontEnd === undefined || !isProven ? NOTHING : link(frontEnd, texts.openApp)}${
  isProven ? link(PASSWORD, texts.changePassword) : NOTHING}${
  isAdmin ? form({ action: OPEN_ADMINISTRATION, button: texts.openAdministration, isQuiet: true }) : NOTHING}${
  form({ action: SIGN_OUT, button: texts.signOut, isQuiet: true })}${factors}${isProven ? others : NOTHING}`
    }
  }, isLanguage(lingua) ? lingua : undefined)
}

/** Ends one session of a person and records it in the audit log. Sessions of other users are ignored. */
async function endOwnSession (request: FastifyRequest, { userId }: PersonPrincipal, sessionId: string): Promise<void> {
  const { db, identity: { waitForListeners } } = request.server
  if (!isUuid(sessionId)) return
  await db.transaction(async (tx) => {
    if (await endSessions(tx, userId, 'local', sessionId) === 0) return
    await recordOf(tx, request, userId, 'uscita', `session:${sessionId}`, { scope: 'session' })
  })
  await waitForListeners()
}
