import { generateKeyPairSync } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import Provider, { type Adapter, type AdapterPayload, type Configuration } from 'oidc-provider'
import type { Test } from 'tap'
import { serve } from '#test/loopback.ts'

export interface Person { sub: string, [claim: string]: unknown }

export interface OpenidProvider {
  issuer: string
  /** The person who signs in, and consents at once. */
  person: Person
  /** Whether the person refuses instead. */
  refuses: boolean
}

export const CLIENT = { client_id: 'locanda', client_secret: 'segreto-di-prova-0123456789' }

const SCOPES = {
  email: ['email', 'email_verified'],
  profile: ['name', 'preferred_username', 'picture', 'role', 'roles', 'app_metadata', 'is_admin']
}

/** A real OpenID provider on loopback. Its people sign in without a password or a click. */
export async function startOpenidProvider (
  t: Test,
  redirectUri: string,
  options: Configuration = {}
): Promise<OpenidProvider> {
  const state = { person: { sub: 'anna' } as Person, refuses: false }
  const { url: issuer, server } = await serve(t)
  const provider = new Provider(issuer, {
    adapter: memory(),
    clients: [
      {
        ...CLIENT,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        id_token_signed_response_alg: 'ES256'
      }
    ],
    jwks: {
      keys: [
        {
          ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
          kty: 'EC',
          alg: 'ES256',
          use: 'sig',
          kid: 'uno'
        }
      ]
    },
    claims: SCOPES,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    cookies: { keys: ['chiave-di-prova'] },
    findAccount: async (_context, accountId) => ({
      accountId,
      claims: async () => ({ ...state.person, sub: accountId })
    }),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    ttl: {
      Session: 60, Interaction: 60, Grant: 60, AccessToken: 60, AuthorizationCode: 60, IdToken: 60, RefreshToken: 60
    },
    ...options
  })
  const answer = provider.callback()

  async function interact (request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { params } = await provider.interactionDetails(request, response)
    if (state.refuses) {
      return await provider.interactionFinished(request, response, {
        error: 'access_denied',
        error_description: 'La persona non vuole'
      })
    }
    const grant = new provider.Grant({ accountId: state.person.sub, clientId: String(params.client_id) })
    grant.addOIDCScope(String(params.scope))
    await provider.interactionFinished(request, response, {
      login: { accountId: state.person.sub },
      consent: { grantId: await grant.save() }
    })
  }

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    // Drops the provider's session, because the next visitor may be another person.
    request.headers.cookie = request.headers.cookie?.replaceAll(/_session(\.sig)?=[^;]*;?/g, '')
    const work = request.url?.startsWith('/interaction/') ? interact(request, response) : answer(request, response)
    work.catch((err: unknown) => t.fail('the provider failed', { err }))
  })
  return Object.assign(state, { issuer })
}

export async function readForm (request: IncomingMessage): Promise<URLSearchParams> {
  return new URLSearchParams(Buffer.concat(await request.toArray()).toString())
}

/** The provider’s storage, in memory. */
function memory (): (name: string) => Adapter {
  const kept = new Map<string, AdapterPayload>()
  return (name) => {
    const all = () => [...kept].filter(([key]) => key.startsWith(`${name}:`))
    return {
      upsert: async (id, payload) => {
        kept.set(`${name}:${id}`, payload)
      },
      find: async (id) => kept.get(`${name}:${id}`),
      findByUid: async (uid) => all().find(([, payload]) => payload.uid === uid)?.[1],
      findByUserCode: async (code) => all().find(([, payload]) => payload.userCode === code)?.[1],
      consume: async (id) => {
        Object.assign(kept.get(`${name}:${id}`) ?? {}, { consumed: Math.floor(Date.now() / 1000) })
      },
      destroy: async (id) => {
        kept.delete(`${name}:${id}`)
      },
      revokeByGrantId: async (grantId) => {
        for (const [key, payload] of kept) if (payload.grantId === grantId) kept.delete(key)
      }
    }
  }
}
