import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { EnrolledFactor, FactorChallenge } from '#schemas/auth/factor-requests.ts'
import type { PasskeyOptions } from '#schemas/auth/passkey.ts'
import type { AuthSession } from '#schemas/auth/session.ts'
import { redirectSignedIn } from './app-pages.ts'
import { callRoute, refusalOf } from './call-route.ts'
import {
  ADD_DEVICE, ADD_PASSKEY, parseResponse, PROVE_DEVICE, SIGN_IN_PASSKEY, type DeviceQuestion
} from './device-forms.ts'
import { afterFirstProof } from './factor-pages.ts'
import { Fields, page, question } from './page-route.ts'
import { afterProof, showProof } from './second-factor-pages.ts'
import { showSignIn } from './sign-in-pages.ts'
import { backToAccount, beginVisit, requireVisitor, type Visitor } from './page-visitor.ts'

const PASSKEYS = '/auth/v1/passkeys'
const DeviceFields = Fields(['challenge', 'credential'])
const EnrolmentFields = Fields(['id', 'challenge', 'credential'])
const ProofFields = Fields(['id', 'challenge', 'credential', 'dopo'])

interface DeviceResponse { id?: string, challenge?: string, credential?: string, dopo?: string }

const devicePages: FastifyPluginAsyncTypebox = async (app) => {
  app.post(`${SIGN_IN_PASSKEY}/opzioni`, question(
    'postDomandaPasskey', 'Comincia l’accesso con una passkey', DeviceFields
  ), async (request) => await askPasskey(request, 'authentication'))

  app.post(SIGN_IN_PASSKEY, page('postPasskey', 'Accede con una passkey', {
    body: DeviceFields
  }), async (request, reply) => await signInWithPasskey(request, reply, request.body))

  app.post(`${ADD_PASSKEY}/opzioni`, question(
    'postNuovaPasskey', 'Comincia la registrazione di una passkey', DeviceFields
  ), async (request) => await askPasskey(request, 'registration', (await requireVisitor(request)).token))

  app.post(ADD_PASSKEY, page('postAggiungiPasskey', 'Registra una passkey', {
    body: DeviceFields
  }), async (request, reply) => {
    const { challenge: challenge_id = '', credential } = request.body
    const { token } = await requireVisitor(request)
    const payload = { challenge_id, credential: parseResponse(credential) }
    await callRoute(request, { method: 'POST', url: `${PASSKEYS}/registration/verify`, token, payload })
    return await backToAccount(reply)
  })

  app.post(`${PROVE_DEVICE}/opzioni`, question(
    'postDomandaDispositivo', 'Comincia la prova del secondo fattore con un dispositivo', ProofFields
  ), async (request) => {
    const visitor = await requireVisitor(request, ['proof'])
    return await askFactor(request, visitor, request.body.id ?? '')
  })

  app.post(PROVE_DEVICE, page('postDispositivo', 'Prova il secondo fattore con un dispositivo', {
    body: ProofFields
  }), async (request, reply) => await proveDevice(request, reply, request.body))

  app.post(`${ADD_DEVICE}/opzioni`, question(
    'postNuovoDispositivo', 'Comincia la registrazione di un dispositivo', EnrolmentFields
  ), async (request) => {
    const visitor = await requireVisitor(request, ['enrolment'])
    const { id } = await callRoute<Static<typeof EnrolledFactor>>(request, {
      method: 'POST', url: '/auth/v1/factors', token: visitor.token, payload: { factor_type: 'webauthn' }
    })
    return await askFactor(request, visitor, id)
  })

  app.post(ADD_DEVICE, page('postConfermaDispositivo', 'Registra un dispositivo', {
    body: EnrolmentFields
  }), async (request, reply) => {
    const visitor = await requireVisitor(request, ['enrolment'])
    const tokens = await prove(request, visitor, 'create', request.body)
    return await afterFirstProof(request, reply, await beginVisit(request, reply, tokens))
  })
}
export default devicePages

async function askPasskey (
  request: FastifyRequest, ceremony: 'authentication' | 'registration', token?: string
): Promise<DeviceQuestion> {
  const { challenge_id: challenge, options } = await callRoute<Static<typeof PasskeyOptions>>(request, {
    method: 'POST', url: `${PASSKEYS}/${ceremony}/options`, token, payload: {}
  })
  return { fields: { challenge }, create: ceremony === 'registration', options }
}

async function signInWithPasskey (
  request: FastifyRequest, reply: FastifyReply, { challenge: challenge_id = '', credential }: DeviceResponse
): Promise<FastifyReply> {
  try {
    const payload = { challenge_id, credential: parseResponse(credential) }
    const tokens = await callRoute<AuthSession>(request, {
      method: 'POST', url: `${PASSKEYS}/authentication/verify`, payload
    })
    return await redirectSignedIn(request, reply, await beginVisit(request, reply, tokens))
  } catch (err) {
    return showSignIn(request, reply, { refused: refusalOf(err) })
  }
}

async function proveDevice (
  request: FastifyRequest, reply: FastifyReply, response: DeviceResponse
): Promise<FastifyReply> {
  const { id, dopo } = response
  const visitor = await requireVisitor(request, ['proof'])
  try {
    const tokens = await prove(request, visitor, 'request', response)
    return await afterProof(request, reply, await beginVisit(request, reply, tokens), dopo)
  } catch (err) {
    return showProof(request, reply, visitor, { dopo, refused: refusalOf(err), id })
  }
}

async function askFactor (request: FastifyRequest, { token }: Visitor, id: string): Promise<DeviceQuestion> {
  const { id: challenge, webauthn } = await callRoute<Static<typeof FactorChallenge>>(request, {
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
  { id = '', challenge: challenge_id = '', credential }: DeviceResponse
): Promise<AuthSession> {
  const payload = { challenge_id, webauthn: { type, credential_response: parseResponse(credential) } }
  const url = `/auth/v1/factors/${encodeURIComponent(id)}/verify`
  return await callRoute<AuthSession>(request, { method: 'POST', url, token, payload })
}
