import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { PasskeyOptions } from '#schemas/auth/passkey.ts'
import type { AuthSession } from '#schemas/auth/session.ts'
import { refusalOf } from './ask.ts'
import { ADD_PASSKEY, answerOf, describedQuestion, SIGN_IN_PASSKEY, type DeviceQuestion } from './devices.ts'
import { Fields } from './forms.ts'
import type { PageOptions } from './options.ts'
import { described, OPEN } from './route.ts'
import { showSignIn } from './sign-in-pages.ts'
import { ACCOUNT } from './visitors.ts'

const PASSKEYS = '/auth/v1/passkeys'
const DeviceFields = Fields(['challenge', 'credential'])

/** Passkeys: signing in with one, adding and removing one's own. */
const passkeyPages: FastifyPluginAsyncTypebox<PageOptions> = async (app, { config, ask, visitors, goOn }) => {
  app.route({
    method: 'POST',
    url: `${SIGN_IN_PASSKEY}/opzioni`,
    config: OPEN,
    schema: describedQuestion('postDomandaPasskey', 'Che cosa si chiede a una passkey', DeviceFields),
    handler: async (request) => {
      const url = `${PASSKEYS}/authentication/options`
      const asked = await ask<Static<typeof PasskeyOptions>>(request, { method: 'POST', url, payload: {} })
      return questionOf(asked, false)
    }
  })

  app.route({
    method: 'POST',
    url: SIGN_IN_PASSKEY,
    config: OPEN,
    schema: described('postPasskey', 'Accede con una passkey', { body: DeviceFields }),
    handler: async (request, reply) => {
      const { challenge: challenge_id = '', credential } = request.body
      try {
        const url = `${PASSKEYS}/authentication/verify`
        const payload = { challenge_id, credential: answerOf(credential) }
        const tokens = await ask<AuthSession>(request, { method: 'POST', url, payload })
        return await goOn(request, reply, await visitors.begin(request, reply, tokens))
      } catch (err) {
        return showSignIn(request, reply, config, { refused: refusalOf(err) })
      }
    }
  })

  app.route({
    method: 'POST',
    url: `${ADD_PASSKEY}/opzioni`,
    config: OPEN,
    schema: describedQuestion('postNuovaPasskey', 'Comincia la registrazione di una passkey', DeviceFields),
    handler: async (request) => {
      const { token } = await visitors.require(request)
      const url = `${PASSKEYS}/registration/options`
      const asked = await ask<Static<typeof PasskeyOptions>>(request, { method: 'POST', url, token, payload: {} })
      return questionOf(asked, true)
    }
  })

  app.route({
    method: 'POST',
    url: ADD_PASSKEY,
    config: OPEN,
    schema: described('postAggiungiPasskey', 'Registra una passkey', { body: DeviceFields }),
    handler: async (request, reply) => {
      const { challenge: challenge_id = '', credential } = request.body
      const { token } = await visitors.require(request)
      const payload = { challenge_id, credential: answerOf(credential) }
      await ask(request, { method: 'POST', url: `${PASSKEYS}/registration/verify`, token, payload })
      return await reply.redirect(`${ACCOUNT}?esito=fatto`, 303)
    }
  })

  app.route({
    method: 'POST',
    url: `${ADD_PASSKEY}/rimuovi`,
    config: OPEN,
    schema: described('postRimuoviPasskey', 'Elimina una passkey', { body: Fields(['id']) }),
    handler: async (request, reply) => {
      const { token } = await visitors.require(request)
      await ask(request, { method: 'DELETE', url: `${PASSKEYS}/${encodeURIComponent(request.body.id ?? '')}`, token })
      return await reply.redirect(`${ACCOUNT}?esito=fatto`, 303)
    }
  })

  app.route({
    method: 'POST',
    url: `${ADD_PASSKEY}/rinomina`,
    config: OPEN,
    schema: described('postRinominaPasskey', 'Dà un nome a una passkey', { body: Fields(['id', 'name']) }),
    handler: async (request, reply) => {
      const { id = '', name: friendly_name = '' } = request.body
      const { token } = await visitors.require(request)
      const url = `${PASSKEYS}/${encodeURIComponent(id)}`
      await ask(request, { method: 'PATCH', url, token, payload: { friendly_name } })
      return await reply.redirect(`${ACCOUNT}?esito=fatto`, 303)
    }
  })
}
export default passkeyPages

function questionOf ({ challenge_id, options }: Static<typeof PasskeyOptions>, create: boolean): DeviceQuestion {
  return { fields: { challenge: challenge_id }, create, options }
}
