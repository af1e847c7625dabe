import cookie from '@fastify/cookie'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { CookieResponse } from '#schemas/admin-cookie.ts'
import { NoBody } from '#schemas/session.ts'
import type { Config } from '#src/config/config.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import { NonAutenticato, NonAutorizzato, RisorsaNonTrovata } from '#src/lib/errors.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { barScreens, frameTexts } from '#src/desk/index.ts'
import emptyBody from '#src/http/empty-body.ts'
import { attributesFor, MARK, MARK_COOKIE, SESSION_COOKIE, adminCookies } from './admin-cookies.ts'
import { grantSession, granteeOf, useSession } from './admin-sessions.ts'
import { PAGE_POLICY, overviewPage } from './overview-page.ts'

const route = routesUnder('Sistema')

const grantRoute = route(
  { access: 'admin', headers: { sends: { 'Set-Cookie': [200] } } },
  'grantCookie', 'Apre le pagine di amministrazione (/ad/) con un cookie', {
    body: NoBody, response: { 200: CookieResponse }
  }
)

const pageRoute = route({ access: 'cookie' }, 'getAmministrazione', 'La prima pagina per gli amministratori', {
  hide: true,
  response: { 200: { description: 'Una pagina HTML', content: { 'text/html': { schema: Type.String() } } } }
})

const otherPageRoute = route({ access: 'cookie' }, 'getAltraPagina', 'Le pagine che non ci sono', { hide: true })

/**
 * The administrators' pages under `/ad/`, and the cookies that open them. A request under `/ad/` changes only the idle
 * timeout of its own session.
 */
const pages: FastifyPluginAsyncTypebox<{ config: Config, keys: Keys }> = async (app, { config, keys }) => {
  const { db, audit, identity: { authenticator } } = app
  const cookies = adminCookies(keys)
  const attributes = attributesFor(config.PUBLIC_URL)
  await app.register(emptyBody)
  // Registered only to write cookies. `admin-cookies.ts` reads them, with stricter parsing than this plugin.
  await app.register(cookie, { hook: false })

  app.cookieGuard = async function requireAdminCookies (request, reply) {
    reply.header('cache-control', 'no-store')
    const idHash = cookies.read(request.headers.cookie)
    const session = idHash && await useSession(db, idHash)
    if (!session) throw new NonAutenticato()
    const grantee = await granteeOf(db, session)
    if (!grantee || !await authenticator.isAdmin(grantee, request)) throw new NonAutorizzato()
  }

  app.post('/api/admin/grant-cookie', grantRoute, async (request, reply) => {
    const { value, idHash } = cookies.mint()
    const expires_at = await db.transaction(async (tx) => {
      const session = await grantSession(tx, idHash, request.principal!)
      const expires_at = session.expires_at.toISOString()
      await audit.append(tx, {
        ...authorOf(request),
        action: 'cookie_amministrazione',
        object: session.principal,
        details: { expires_at }
      })
      return expires_at
    })
    reply.setCookie(MARK_COOKIE, MARK, attributes).setCookie(SESSION_COOKIE, value, attributes)
    return {
      success: true,
      message: 'Accesso alle pagine di amministrazione concesso: finisce dopo 15 minuti senza uso',
      expires_at,
      status: 200
    }
  })

  app.get('/ad/', pageRoute, async (_request, reply) => {
    const page = await overviewPage(db, config.ALLOGGIATI_MODE, barScreens(app, frameTexts.it))
    return reply
      .headers({ 'content-security-policy': PAGE_POLICY, 'cross-origin-opener-policy': 'same-origin' })
      .type('text/html; charset=utf-8')
      .send(page)
  })

  // Only administrators learn which pages exist. All other callers get the refusal of the guard.
  app.get('/ad/*', otherPageRoute, async () => { throw new RisorsaNonTrovata() })
}
export default pages
