import cookie from '@fastify/cookie'
import createError from '@fastify/error'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { isLoopbackHost } from '#src/lib/addresses.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { parseForm } from '#src/lib/urlencoded.ts'
import { hasMark, setMark } from './page-cookies.ts'

const FORM_BYTES = 64 * 1024

const CookieAssenti = createError('COOKIE_ASSENTI', 'Il browser non accetta i cookie di questo server', 400)
const ModuloEstraneo = createError('MODULO_ESTRANEO', 'Il modulo non viene da una pagina di questo server', 403)

/**
 * Accepts only urlencoded forms, and only from pages of this server. A `SameSite=Strict` cookie is required. New
 * browsers also send `Sec-Fetch-Site`, except over plain http to other hosts than localhost. Without this header,
 * `Origin` is checked if the browser sends it.
 *
 * A browser without that cookie stores no session cookie either. The request is rejected before it uses up a code or a
 * link. The response sets the cookie again, in case the person has allowed cookies meanwhile. In an old browser the
 * form may be from another site. The cookie in the response does not help that site, because a browser does not send a
 * `SameSite=Strict` cookie with forms of other sites.
 */
export default fp(async function forms (app) {
  await app.register(cookie)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer', bodyLimit: FORM_BYTES },
    (_request, bytes, done) => {
      const fields = parseForm(bytes)
      done(fields ? null : new CampiNonValidi({ campo: '', messaggio: 'ha un campo ripetuto' }), fields)
    }
  )

  app.addHook('preValidation', async function refuseForeignForms (request, reply) {
    if (request.method !== 'POST') {
      setMark(reply)
      return
    }
    if (!isOwnForm(request)) throw new ModuloEstraneo()
    if (hasMark(request)) return
    setMark(reply)
    throw new CookieAssenti()
  })
}, { name: 'page-forms' })

/** Whether a page of this server sent the form, by `Sec-Fetch-Site`, else by `Origin`. True if both are missing. */
function isOwnForm ({ headers: { 'sec-fetch-site': site, origin }, server, host }: FastifyRequest): boolean {
  if (site !== undefined) return site === 'same-origin'
  if (origin === undefined) return true
  const { protocol, hostname, origin: own } = new URL(server.identity.config.PUBLIC_URL)
  // Browsers send `null` from a page without referrer. Then only the cookie proves where the form comes from.
  if (origin === 'null') return protocol === 'http:' && !isLoopbackHost(hostname)
  if (!URL.canParse(origin)) return false
  return origin === own || new URL(origin).host === host
}
