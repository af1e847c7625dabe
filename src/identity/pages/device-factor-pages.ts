import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { EnrolledFactor, FactorChallenge } from '#schemas/auth/factor-requests.ts'
import type { AuthSession } from '#schemas/auth/session.ts'
import { refusalOf } from './ask.ts'
import { ADD_DEVICE, answerOf, describedQuestion, PROVE_DEVICE, type DeviceQuestion } from './devices.ts'
import { afterFirstProof } from './factor-pages.ts'
import { Fields } from './forms.ts'
import type { PageOptions } from './options.ts'
import { showProof } from './proof-view.ts'
import { described, OPEN } from './route.ts'
import { afterProof } from './second-factor-pages.ts'
import type { Visitor } from './visitors.ts'

const EnrolmentFields = Fields(['id', 'challenge', 'credential'])
const ProofFields = Fields(['id', 'challenge', 'credential', 'dopo'])

/** Devices as second factors: added to an account, and proven. */
const deviceFactorPages: FastifyPluginAsyncTypebox<PageOptions> = async (app, options) => {
  const { config, ask, visitors } = options

  app.route({
    method: 'POST',
    url: `${PROVE_DEVICE}/opzioni`,
    config: OPEN,
    schema: describedQuestion('postDomandaDispositivo', 'Che cosa si chiede a un dispositivo', ProofFields),
    handler: async (request) => {
      const visitor = await visitors.require(request, ['proof'])
      return await questionFor(request, visitor, request.body.id ?? '')
    }
  })

  app.route({
    method: 'POST',
    url: PROVE_DEVICE,
    config: OPEN,
    schema: described('postDispositivo', 'Prova il secondo fattore con un dispositivo', {
      body: ProofFields
    }),
    handler: async (request, reply) => {
      const { id, dopo } = request.body
      const visitor = await visitors.require(request, ['proof'])
      try {
        const tokens = await prove(request, visitor, 'request', request.body)
        return await afterProof(request, reply, options, await visitors.begin(request, reply, tokens), dopo)
      } catch (err) {
        return showProof(request, reply, visitor, config, { dopo, refused: refusalOf(err), id })
      }
    }
  })

  app.route({
    method: 'POST',
    url: `${ADD_DEVICE}/opzioni`,
    config: OPEN,
    schema: describedQuestion('postNuovoDispositivo', 'Comincia la registrazione di un dispositivo', EnrolmentFields),
    handler: async (request) => {
      const visitor = await visitors.require(request, ['enrolment'])
      const { id } = await ask<Static<typeof EnrolledFactor>>(request, {
        method: 'POST', url: '/auth/v1/factors', token: visitor.token, payload: { factor_type: 'webauthn' }
      })
      return await questionFor(request, visitor, id)
    }
  })

  app.route({
    method: 'POST',
    url: ADD_DEVICE,
    config: OPEN,
    schema: described('postConfermaDispositivo', 'Registra un dispositivo', {
      body: EnrolmentFields
    }),
    handler: async (request, reply) => {
      const visitor = await visitors.require(request, ['enrolment'])
      const tokens = await prove(request, visitor, 'create', request.body)
      return await afterFirstProof(request, reply, options, await visitors.begin(request, reply, tokens))
    }
  })

  async function questionFor (request: FastifyRequest, { token }: Visitor, id: string): Promise<DeviceQuestion> {
    const { id: challenge, webauthn } = await ask<Static<typeof FactorChallenge>>(request, {
      method: 'POST', url: `/auth/v1/factors/${encodeURIComponent(id)}/challenge`, token, payload: {}
    })
    return {
      fields: { id, challenge },
      create: webauthn?.type === 'create',
      options: webauthn?.credential_options.publicKey ?? {}
    }
  }

  async function prove (
    request: FastifyRequest,
    { token }: Visitor,
    type: 'create' | 'request',
    { id = '', challenge: challenge_id = '', credential }: { id?: string, challenge?: string, credential?: string }
  ): Promise<AuthSession> {
    const payload = { challenge_id, webauthn: { type, credential_response: answerOf(credential) } }
    const url = `/auth/v1/factors/${encodeURIComponent(id)}/verify`
    return await ask<AuthSession>(request, { method: 'POST', url, token, payload })
  }
}
export default deviceFactorPages
