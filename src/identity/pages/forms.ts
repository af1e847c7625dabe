import cookie from '@fastify/cookie'
import createError from '@fastify/error'
import fp from 'fastify-plugin'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { parseForm } from '#src/lib/urlencoded.ts'
import { hasMark, setMark } from './page-cookies.ts'

const FORM_BYTES = 64 * 1024

const CookieAssenti = createError('COOKIE_ASSENTI', 'Il browser non accetta i cookie di questo server', 400)
const ModuloEstraneo = createError('MODULO_ESTRANEO', 'Il modulo non viene da una pagina di questo server', 403)

/**
 * Forms, as the only format of a body, and from our own pages alone. Browsers say where a form comes from
 * (`Sec-Fetch-Site`), but not over plain http from elsewhere than this machine, nor did they always: there a cookie
 * says so that they send with nothing that begins on another site.
 *
 * A browser without that cookie keeps none, not even that of a session: nothing is done in vain, and no code or link is
 * used up. The answer brings the cookie once more, for a person who has allowed it meanwhile. An older
 * browser does not say where a form comes from: it may be another site. That site gains nothing by the cookie in the
 * answer: each of our pages sets it, too, and `SameSite=Strict` keeps it out of the forms of other sites.
 */
export default fp(async function forms (app) {
  await app.register(cookie)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: FORM_BYTES },
    (_request, text, done) => {
      const fields = parseForm(text)
      done(fields ? null : new CampiNonValidi({ campo: '', messaggio: 'ha un campo ripetuto' }), fields)
    }
  )

  app.addHook('preValidation', async function refuseForeignForms (request, reply) {
    if (request.method !== 'POST') {
      setMark(reply)
      return
    }
    const { 'sec-fetch-site': site = 'same-origin' } = request.headers
    if (site !== 'same-origin') throw new ModuloEstraneo()
    if (hasMark(request)) return
    setMark(reply)
    throw new CookieAssenti()
  })
}, { name: 'page-forms' })
