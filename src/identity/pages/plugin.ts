import { readFileSync } from 'node:fs'
import type { FastifyError, FastifyPluginAsync } from 'fastify'
import { prefers, wantsPage } from '#src/lib/accept-headers.ts'
import { RisorsaNonTrovata } from '#src/lib/errors.ts'
import { html } from '#src/lib/html.ts'
import { renderError } from '#src/http/errors.ts'
import accountPages from './account-pages.ts'
import appPages from './app-pages.ts'
import { asksDevices } from './device-forms.ts'
import devicePages from './device-pages.ts'
import factorPages from './factor-pages.ts'
import forms from './form-checks.ts'
import keyPages from './key-pages.ts'
import mailPages from './mail-pages.ts'
import { link, NOTHING, SCRIPT, show } from './page-elements.ts'
import passwordPages from './password-pages.ts'
import providerPages from './provider-pages.ts'
import { showError } from './show-error.ts'
import { page } from './page-route.ts'
import secondFactorPages from './second-factor-pages.ts'
import signInPages from './sign-in-pages.ts'

const ROOT = '/auth/'

/**
 * The pages for users under `/auth/`. The server renders HTML in the browser's language. Forms work without scripts,
 * except those for devices. A GET does not sign in and does not change the account.
 */
const pages: FastifyPluginAsync = async (app) => {
  await app.register(forms)
  app.setErrorHandler(showError)
  // The script is a separate file, because the policy of the pages forbids inline scripts.
  const script = readFileSync(new URL('forms.js', import.meta.url), 'utf8')
  app.get(SCRIPT, page('getScriptModuli', 'Lo script delle pagine'), async (_request, reply) =>
    reply.header('cache-control', 'no-cache').type('text/javascript; charset=utf-8').send(script))
  for (const routes of [
    signInPages, appPages, providerPages, secondFactorPages, accountPages, factorPages, keyPages, mailPages,
    passwordPages, ...(asksDevices(app.identity.config) ? [devicePages] : [])
  ]) await app.register(routes)
}
export default pages

/**
 * With an external provider, `/` shows the purpose and the links of the service to a person. A program, which does not
 * accept HTML, gets a 404.
 */
export const home: FastifyPluginAsync = async (app) => {
  const { CORS_ORIGINS: [frontEnd] } = app.identity.config

  app.get('/', page('getHome', 'La prima pagina'), async (request, reply) => {
    if (!prefers(request.headers.accept, 'text/html', 'application/json')) throw new RisorsaNonTrovata()
    return show(request, reply, (texts) => ({
      title: texts.homeTitle,
      hasForms: false,
      content: html`<p>${texts.homeText}</p>
${frontEnd === undefined ? NOTHING : link(frontEnd, texts.openApp)}${
  link('/docs', texts.homeApi)}${link('/health/ready', texts.homeHealth)}`
    })).header('vary', 'accept, accept-language')
  })
}

/**
 * For unknown URLs below `/auth`, a person gets a page in the browser's language, and a program the usual error.
 * `/auth` without a slash redirects a person to the first page.
 */
export const unknownPages: FastifyPluginAsync = async (app) => {
  app.setErrorHandler<FastifyError>((err, request, reply) => {
    if (!wantsPage(request)) return renderError(err, request, reply)
    // The URL of a form. A browser may request it again when the person returns from another program.
    if (err.statusCode === 405) return reply.redirect(ROOT, 303)
    return showError(err, request, reply).header('vary', 'accept, accept-language')
  })
  app.setNotFoundHandler((request, reply) => {
    const [path] = request.url.split('?', 1)
    return path === app.prefix && wantsPage(request)
      ? reply.redirect(`${app.prefix}/`, 303)
      : app.refuseUnknown(request, reply)
  })
}
