import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { html } from '#src/lib/html.ts'
import { ofType } from '../factors/store.ts'
import { countCodes } from '../factors/recovery-codes.ts'
import { listPasskeys, presentPasskey } from '../factors/webauthn/credentials.ts'
import { isLanguage } from '../languages.ts'
import { listKeys } from '../keys/key-store.ts'
import { factorList, identityList, keyList, mailLanguage, passkeyList, sessionList, wordingOf } from './account-view.ts'
import { continueForm } from './app-view.ts'
import { asksDevices } from './devices.ts'
import { endOwnSession } from './end-session.ts'
import { Fields } from './forms.ts'
import type { PageOptions } from './options.ts'
import { alarm, form, link, NOTHING, notice } from './parts.ts'
import { described, OPEN, PageQuery } from './route.ts'
import { show } from './show.ts'
import { fill, type TextKey } from './texts.ts'
import { ACCOUNT, NO_FACTOR, PASSWORD, SIGN_OUT } from './visitors.ts'

/** What the page says has been done, by the word in its address. */
const DONE: ReadonlyMap<string, TextKey> = new Map([
  ['fatto', 'done'], ['password', 'passwordSaved'], ['indirizzo', 'addressConfirmed']
])

/** A person's own account: what is signed in, proven, linked and given out in their name. */
const accountPages: FastifyPluginAsyncTypebox<PageOptions> = async (app, { config, ask, cookies, visitors }) => {
  const { db, identity: { directory } } = app
  const [frontEnd] = config.CORS_ORIGINS
  const hasDevices = asksDevices(config)

  app.route({
    method: 'GET',
    url: ACCOUNT,
    config: OPEN,
    schema: described('getAccount', 'La pagina del proprio account', { querystring: PageQuery }),
    handler: async (request, reply) => {
      const { user, caller } = await visitors.require(request, ['enrolment'])
      const codes = ofType(user.factors, 'recovery_code')
      const [sessions, keys, passkeys, left] = await Promise.all([
        directory.sessions(caller),
        listKeys(db, user.id),
        listPasskeys(db, user.id),
        codes && countCodes(db, codes.id)
      ])
      const asked = caller.lacks === undefined ? cookies.appOf(request) : undefined
      const { esito = '' } = request.query
      const done = DONE.get(esito)
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
            alarm(caller.lacks === undefined && esito !== NO_FACTOR ? undefined : texts.mustEnrol)}${
            notice(caller.pending ? texts.pendingAccount : undefined)}<p>${fill(texts.signedInAs, user.email)}</p>
${asked === undefined ? NOTHING : continueForm(asked, texts)}${
  frontEnd === undefined || caller.lacks !== undefined ? NOTHING : link(frontEnd, texts.openApp)}${
  caller.lacks === undefined ? link(PASSWORD, texts.changePassword) : NOTHING}${
  form({ action: SIGN_OUT, button: texts.signOut, isQuiet: true })}${factors}${
  caller.lacks === undefined ? others : NOTHING}`
        }
      })
    }
  })

  app.route({
    method: 'POST',
    url: `${ACCOUNT}/sessioni/altre`,
    config: OPEN,
    schema: described('postAltreSessioni', 'Chiude le altre sessioni', { body: Fields([]) }),
    handler: async (request, reply) => {
      const { token } = await visitors.require(request)
      await ask(request, { method: 'POST', url: '/auth/v1/logout?scope=others', token, payload: {} })
      return await reply.redirect(`${ACCOUNT}?esito=fatto`, 303)
    }
  })

  app.route({
    method: 'POST',
    url: `${ACCOUNT}/sessioni/chiudi`,
    config: OPEN,
    schema: described('postSessione', 'Chiude una sessione', { body: Fields(['id']) }),
    handler: async (request, reply) => {
      const { caller } = await visitors.require(request)
      await endOwnSession(app, request, caller, request.body.id ?? '')
      return await reply.redirect(`${ACCOUNT}?esito=fatto`, 303)
    }
  })

  app.route({
    method: 'POST',
    url: `${ACCOUNT}/lingua`,
    config: OPEN,
    schema: described('postLingua', 'Sceglie la lingua delle e-mail', { body: Fields(['lingua']) }),
    handler: async (request, reply) => {
      const { lingua } = request.body
      const { token } = await visitors.require(request)
      const data = isLanguage(lingua) ? { lingua } : {}
      await ask(request, { method: 'PUT', url: '/auth/v1/user', token, payload: { data } })
      return await reply.redirect(`${ACCOUNT}?esito=fatto`, 303)
    }
  })
}
export default accountPages
