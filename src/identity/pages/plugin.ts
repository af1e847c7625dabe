import type { FastifyPluginAsync } from 'fastify'
import type { IdentityOptions } from '../options.ts'
import accountPages from './account-pages.ts'
import appPages from './app-pages.ts'
import { asker } from './ask.ts'
import { pageCookies } from './cookies.ts'
import { asksDevices } from './devices.ts'
import deviceFactorPages from './device-factor-pages.ts'
import factorPages from './factor-pages.ts'
import { goingOn } from './go-on.ts'
import forms from './forms.ts'
import keyPages from './key-pages.ts'
import linkPages from './link-pages.ts'
import mailPages from './mail-pages.ts'
import type { PageOptions } from './options.ts'
import passkeyPages from './passkey-pages.ts'
import passwordPages from './password-pages.ts'
import providerPages from './provider-pages.ts'
import { showError } from './refusals.ts'
import secondFactorPages from './second-factor-pages.ts'
import signInPages from './sign-in-pages.ts'
import scriptRoute from './script-route.ts'
import { pageVisitors } from './visitors.ts'
import { waysBack } from './ways-back.ts'

/**
 * The pages for people, under `/auth/`: HTML that the server writes, forms that work without scripts, in the language
 * of the browser. A GET changes nothing.
 */
const pages: FastifyPluginAsync<IdentityOptions> = async (app, { config, keys }) => {
  const cookies = pageCookies({ config, keys })
  const visitors = pageVisitors(app, cookies)
  const goOn = goingOn(app, { config, keys, cookies })
  const options: PageOptions = { config, keys, ask: asker(app), cookies, visitors, goOn }
  await app.register(forms, { cookies })
  app.setErrorHandler(showError)
  const leadBack = waysBack(app)
  await app.register(scriptRoute)
  await app.register(signInPages, options)
  await app.register(appPages, options)
  await app.register(providerPages, options)
  await app.register(secondFactorPages, options)
  await app.register(accountPages, options)
  await app.register(factorPages, options)
  await app.register(keyPages, options)
  await app.register(linkPages, options)
  if (asksDevices(config)) {
    await app.register(passkeyPages, options)
    await app.register(deviceFactorPages, options)
  }
  await app.register(mailPages, options)
  await app.register(passwordPages, options)
  leadBack()
}
export default pages
