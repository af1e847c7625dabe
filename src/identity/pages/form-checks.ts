import cookie from '@fastify/cookie'
import createError from '@fastify/error'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { parseForm } from '#src/lib/urlencoded.ts'
import { hasMark, setMark } from './page-cookies.ts'

const FORM_BYTES = 64 * 1024

const CookieAssenti = createError('COOKIE_ASSENTI', 'Il browser non accetta i cookie di questo server', 400)
const ModuloEstraneo = createError('MODULO_ESTRANEO', 'Il modulo non viene da una pagina di questo server', 403)

/**
 * Accepts only urlencoded forms, and only from pages of this server. New browsers send the origin in `Sec-Fetch-Site`,
 * except over plain http to other hosts than localhost. Otherwise `Origin` and a `SameSite=Strict` cookie prove it.
 *
 * A browser without that cookie stores no session cookie either. The request is rejected before it uses up a code or a
 * link. The answer sets the cookie again, in case the person has allowed cookies meanwhile. An old browser's form may
 * come from another site. That site gains nothing by the cookie in the answer: each of our pages sets it, too, and
 * `SameSite=Strict` keeps it out of other sites' forms.
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

/** Whether the form is of this server, by `Sec-Fetch-Site`, or by `Origin` where the browser does not send that. */
function isOwnForm ({ headers: { 'sec-fetch-site': site, origin }, server, host }: FastifyRequest): boolean {
  if (site !== undefined) return site === 'same-origin'
  if (origin === undefined) return true
  if (!URL.canParse(origin)) return false
  return origin === new URL(server.identity.config.PUBLIC_URL).origin || new URL(origin).host === host
}
