import type { JWT } from '@fastify/jwt'
import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { secretComparer } from '#src/lib/secrets.ts'
import type { Authenticator, Principal, Refusal } from '#src/plugins/auth.ts'
import type { Database } from '#src/plugins/database/connect.ts'
import type { ApiKeyFormat } from '../keys/api-keys.ts'
import {
  bearerAuthenticator,
  headerOf,
  readMachineToken,
  readPersonToken,
  SERVICE,
  type Signature,
  type Verified
} from '../tokens/bearer.ts'
import { keyAuthenticator } from '../keys/person-keys.ts'
import { isAdmin, isStranger } from '../people/roles.ts'
import { clientOf } from '../sign-in/sessions.ts'
import type { Standing } from '../embedded/standings.ts'
import type { Accounts } from './accounts.ts'
import type { Jwks } from './jwks.ts'
import type { KeyStandings } from './key-standings.ts'
import type { People } from './people.ts'
import type { Seen, SeenSessions } from './seen-sessions.ts'
import type { ExternalSettings } from './settings.ts'

export interface ExternalAuthenticatorOptions {
  jwt: JWT
  settings: ExternalSettings
  jwks: Jwks
  accounts: Accounts
  seen: SeenSessions
  /** Without the service key nobody can be asked for: keys of persons are not good then. */
  people: People | undefined
  keys: KeyStandings | undefined
  apiKeys: ApiKeyFormat
  db: Database
  log: FastifyBaseLogger
}

/** What its token says of a person's rights is good enough where a minute does not matter. */
interface Known extends Verified { admin: boolean, pending: boolean, verifiedAt: number }

/** Whatever the provider's settings, no token is believed for longer. */
const MAX_AGE_SECONDS = 24 * 3600
/** A signature is believed for so long; then its key has to be among the published ones still. */
const BELIEVED_MS = 600_000
/** Issuers of the keys that Supabase's hosting and its local environment hand out. */
const KEY_ISSUERS = ['supabase', 'supabase-demo']

/** Who is behind a credential of the external provider. */
export function externalAuthenticator (options: ExternalAuthenticatorOptions): Authenticator {
  const { jwt, settings, jwks, accounts, seen, people, keys, apiKeys, db, log } = options
  const { base: issuer, jwtSecret } = settings
  const isServiceKey = secretComparer(settings.serviceKey)
  const isAnonKey = secretComparer(settings.anonKey)

  return {
    bearer: bearerAuthenticator<Known>({
      isLive: ({ verifiedAt }) => Date.now() - verifiedAt < BELIEVED_MS,

      standing (subject, request, token) {
        const known = seen.remembered(subject.sessionId)
        if (known !== undefined) return judge(subject, known)
        return seen
          .look(subject, clientOf(request), () => accounts.isAlive(token))
          .then((found) => judge(subject, found))
      },

      async verify (token) {
        if (isServiceKey(token)) return SERVICE
        if (isAnonKey(token)) return 'no_authorization'
        const signature = await signatureOf(token)
        const found = signature && readPersonToken(jwt, token, signature)
        if (found === undefined) {
          return signature?.algorithm === 'HS256'
            ? readMachineToken(jwt, token, jwtSecret!, [issuer, ...KEY_ISSUERS])
            : 'bad_jwt'
        }
        const { userId, sessionId, expiresAt, claims: { app_metadata, is_anonymous } } = found
        // Whoever asks is given such an account, where the provider has them.
        if (is_anonymous === true) return 'no_authorization'
        const metadata = typeof app_metadata === 'object' && app_metadata !== null ? { ...app_metadata } : {}
        return {
          userId,
          sessionId,
          expiresAt,
          admin: isAdmin(metadata),
          pending: isStranger(metadata),
          verifiedAt: Date.now()
        }
      }
    }),

    key: keyAuthenticator({ apiKeys, standing: async (id) => await keys?.standing(id), db, log }),

    async isAdmin (principal, request) {
      const { kind, admin, userId, sessionId, scopes } = principal
      if (kind !== 'user') return admin
      if (scopes !== undefined && !scopes.includes('amministrazione')) return false
      const token = tokenOf(principal, request)
      if (token !== undefined) {
        const user = await accounts.own(token, { userId: userId!, sessionId: sessionId! })
        return user !== undefined && isAdmin(user.app_metadata)
      }
      // With a key, or a session of the administrators' pages.
      if (sessionId !== undefined && await seen.isRevoked(sessionId)) return false
      const user = await people?.now(userId!)
      return user !== undefined && isAdmin(user.app_metadata)
    }
  }

  /** The only key and algorithm under which this token may hold. A public key is never a secret. */
  async function signatureOf (token: string): Promise<Signature | undefined> {
    const { alg, kid } = headerOf(jwt, token) ?? {}
    if (alg === 'HS256') return jwtSecret && { key: jwtSecret, algorithm: alg, issuer, maxAgeSeconds: MAX_AGE_SECONDS }
    if ((alg !== 'ES256' && alg !== 'RS256') || typeof kid !== 'string') return undefined
    const key = await jwks.key(kid)
    return key?.alg === alg ? { key: key.pem, algorithm: alg, issuer, maxAgeSeconds: MAX_AGE_SECONDS } : undefined
  }
}

function judge ({ admin, pending, expiresAt }: Known, { userId, isRevoked }: Seen): Standing | Refusal {
  return isRevoked ? 'session_not_found' : { userId, admin, pending, endsAt: expiresAt }
}

/** The token with which a person came; undefined when they came by another way. */
export function tokenOf ({ sessionId }: Principal, { principal, headers }: FastifyRequest): string | undefined {
  return sessionId !== undefined && principal?.sessionId === sessionId
    ? headers.authorization?.replace(/^Bearer /i, '')
    : undefined
}
