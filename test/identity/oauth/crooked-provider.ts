import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { createSigner } from 'fast-jwt'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Test } from 'tap'
import { serve } from '#test/loopback.ts'
import { CLIENT, readForm } from './openid-provider.ts'

type Reply = (request: IncomingMessage, response: ServerResponse) => void

/** An OpenID provider with arbitrary responses. It has no sign-in page: the test acts as the returning browser. */
export interface CrookedProvider {
  issuer: string
  /** Overrides the claims of the next ID tokens. Undefined removes a claim. */
  claims: Record<string, unknown>
  /** Overrides the header. */
  header: { alg?: 'ES256' | 'none', kid?: string }
  /** Whether it signs with a key that is not published. */
  foreignKey: boolean
  /** Overrides the token response. */
  tokens: Record<string, unknown>
  userinfo: Record<string, unknown>
  metadata: Record<string, unknown>
  /** Replaces the usual replies, by path. */
  replies: Record<string, Reply>
  /** The forms posted to the token endpoint. */
  forms: URLSearchParams[]
  /** The requested paths. */
  asked: string[]
  /** The nonce of the next ID token, from the authorization request. */
  nonce: string
}

const SUBJECT = 'persona-1'

export async function startCrookedProvider (t: Test): Promise<CrookedProvider> {
  const state: CrookedProvider = {
    issuer: '',
    claims: {},
    header: {},
    foreignKey: false,
    tokens: {},
    userinfo: {},
    metadata: {},
    replies: {},
    forms: [],
    asked: [],
    nonce: ''
  }
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const foreign = generateKeyPairSync('ec', { namedCurve: 'P-256' })

  function idToken (): string {
    const now = Math.floor(Date.now() / 1000)
    const usual = {
      iss: state.issuer,
      aud: CLIENT.client_id,
      sub: SUBJECT,
      iat: now,
      exp: now + 60,
      nonce: state.nonce,
      email: 'rosa@example.org',
      email_verified: true
    }
    const claims = { ...usual, ...state.claims }
    const { alg = 'ES256', kid = 'uno' } = state.header
    const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
    if (alg === 'none') return `${encode({ alg })}.${encode(claims)}.`
    const { privateKey } = state.foreignKey ? foreign : own
    return createSigner({ key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), algorithm: alg, kid })(
      claims
    )
  }

  const usual: Record<string, (request: IncomingMessage) => Promise<object> | object> = {
    '/.well-known/openid-configuration': () => ({
      issuer: state.issuer,
      authorization_endpoint: `${state.issuer}/auth`,
      token_endpoint: `${state.issuer}/token`,
      jwks_uri: `${state.issuer}/jwks`,
      userinfo_endpoint: `${state.issuer}/userinfo`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
      ...state.metadata
    }),
    '/jwks': () => ({ keys: [{ ...own.publicKey.export({ format: 'jwk' }), kid: 'uno', alg: 'ES256', use: 'sig' }] }),
    '/token': async (request) => {
      state.forms.push(await readForm(request))
      return {
        access_token: `at-${randomUUID()}`, token_type: 'Bearer', expires_in: 60, id_token: idToken(), ...state.tokens
      }
    },
    '/userinfo': () => ({ sub: SUBJECT, ...state.userinfo })
  }

  const { url } = await serve(t, (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    state.asked.push(pathname)
    const reply = state.replies[pathname]
    if (reply) return reply(request, response)
    Promise.resolve(usual[pathname]?.(request)).then((body) => {
      response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' })
        .end(JSON.stringify(body ?? {}))
    }, (err: unknown) => t.fail('the provider failed', { err }))
  })
  state.issuer = url
  return state
}
