import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AuthUser } from '#schemas/auth/user.ts'
import { CampiNonValidi, NonAutenticato, SecondoFattoreRichiesto, ServeUnaPersona } from '#src/lib/errors.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Directory, PersonPrincipal } from '../directory.ts'
import { accountFingerprint, normalizeEmail } from '../people/email.ts'
import { presentSession } from '../people/present.ts'
import { isStaff } from '../people/roles.ts'
import {
  AmministrazioneNonDisponibile,
  EmailGiaRegistrata,
  ProviderNonCollegato,
  ProviderNonRaggiungibile,
  ScollegamentoNonAmmesso,
  UnicaIdentita,
  UtenteNonTrovato
} from '../errors.ts'
import { revokeKeys } from '../keys/key-store.ts'
import { clientOf } from '../sign-in/sessions.ts'
import { audited } from './audited.ts'
import { bearerTokenOf } from './authenticator.ts'
import type { IdpAnswer, IdpClient } from './client.ts'
import type { SeenSessions } from './seen-sessions.ts'
import type { ExternalSettings } from './settings.ts'
import { ENDED_CODES, type TokenLookup } from './token-lookup.ts'
import type { UserLookup } from './user-lookup.ts'
import { readUser, readUsers } from './users.ts'

export interface ExternalDirectoryOptions {
  app: Pick<FastifyInstance, 'db' | 'audit' | 'log'>
  keys: Keys
  settings: ExternalSettings
  client: IdpClient
  tokens: TokenLookup
  seen: SeenSessions
  /** Undefined without the service key: there are no API keys then. */
  users: UserLookup | undefined
}

const PER_PAGE = 1000
/** A list that is longer is a fault of the provider. */
const MAX_PAGES = 100

/**
 * The users of the external provider. Every change there is written to the audit log before it is asked for, and after.
 */
export function externalDirectory ({
  app,
  keys,
  settings,
  client,
  tokens,
  seen,
  users
}: ExternalDirectoryOptions): Directory {
  return {
    clientConfig: { backendUrl: settings.url, backendKey: settings.anonKey },

    async createOperator ({ email, password, name, surname }, by, noteDone) {
      const serviceKey = requireServiceKey()
      return await audited(
        app,
        {
          ...by,
          action: 'utente_creato',
          object: `account:${accountFingerprint(keys, email)}`,
          details: { role: 'operator' }
        },
        async () => {
          const answer = await client.asService(serviceKey, 'POST', '/admin/users', {
            email: normalizeEmail(email),
            password,
            email_confirm: true,
            app_metadata: { role: 'operator' },
            user_metadata: { name, surname }
          })
          const user = isSuccess(answer) ? readUser(answer.body) : undefined
          if (user === undefined) throw notCreated(answer)
          await noteDone(app.db)
          return user
        },
        ({ id }) => ({ user: id })
      )
    },

    async checkOperator (id) {
      const answer = await client.asService(requireServiceKey(), 'GET', `/admin/users/${id}`)
      const user = isSuccess(answer) ? readUser(answer.body) : undefined
      if (user === undefined || !isStaff(user.app_metadata)) throw userProblem(answer)
    },

    async setPicture (id, url, by, store) {
      const serviceKey = requireServiceKey()
      await audited(app, { ...by, action: 'immagine_profilo', object: `user:${id}` }, async () => {
        // The provider keeps the fields that are not named.
        const body = { user_metadata: { avatar_url: url } }
        const answer = await client.asService(serviceKey, 'PUT', `/admin/users/${id}`, body)
        if (!isSuccess(answer)) throw userProblem(answer)
        await app.db.transaction(store)
      })
    },

    async operators () {
      const found: AuthUser[] = []
      // The provider cannot be asked for them alone.
      for await (const each of everybody()) found.push(...each.filter(({ app_metadata }) => isStaff(app_metadata)))
      return found
    },

    users: everybody,

    async unlink (request, caller, provider) {
      const { token, session } = ownSession(request, caller)
      const user = await tokens.user(token, session)
      if (user === undefined) throw new NonAutenticato()
      const identity = user.identities.find((each) => each.provider === provider)
      if (identity === undefined) throw new ProviderNonCollegato(provider)
      if (user.identities.length === 1) throw new UnicaIdentita()
      const entry = {
        actor: caller.id,
        ip: request.ip,
        action: 'identita_scollegata',
        object: `user:${caller.userId}`,
        details: { provider }
      } as const
      await audited(app, entry, async () => {
        const answer = await client.asPerson(token, 'DELETE', `/user/identities/${identity.identity_id}`)
        if (!isSuccess(answer)) throw notUnlinked(answer, provider)
      })
    },

    async sessions ({ userId, sessionId }) {
      return (await seen.list(userId)).map((row) => presentSession(row, sessionId))
    },

    async revokeAll (request, caller, alsoKeys) {
      const { token, session } = ownSession(request, caller)
      await seen.flush()
      const entry = {
        actor: caller.id,
        ip: request.ip,
        action: 'sessioni_revocate',
        object: `user:${caller.userId}`
      } as const
      const { revoked } = await audited(
        app,
        entry,
        async () => {
          const answer = await client.asPerson(token, 'POST', '/logout?scope=global')
          // Sessions that have ended there already are still to be ended here.
          if (!isSuccess(answer) && !ENDED_CODES.has(answer.code)) throw refusal(answer)
          return await app.db.transaction(async (tx) => ({
            revoked: await seen.endAll(tx, session, clientOf(request)),
            keys: alsoKeys ? await revokeKeys(tx, caller.userId) : 0
          }))
        },
        (done) => done
      )
      return revoked
    },

    async lockSession (tx, { userId, sessionId, recentUntil }) {
      if (!(await seen.lock(tx, { userId: userId!, sessionId: sessionId! }))) throw new NonAutenticato()
      return recentUntil !== undefined
    },

    // The provider's factors cannot be locked. The level of a session is that of its token, which was let in.
    async requireLevel (_tx, { userId, sessionId, recentUntil }) {
      if (sessionId !== undefined || recentUntil !== undefined) return
      const user = await users?.recent(userId)
      if (user?.factors?.some(({ status }) => status === 'verified')) throw new SecondoFattoreRichiesto()
    }
  }

  async function * everybody (): AsyncGenerator<AuthUser[]> {
    const serviceKey = requireServiceKey()
    const found = new Map<string, AuthUser>()
    for (let page = 1; page <= MAX_PAGES; page++) {
      const { status, body, total } = await client.asService(
        serviceKey,
        'GET',
        `/admin/users?page=${page}&per_page=${PER_PAGE}`
      )
      const users = status === 200 ? readUsers(body) : undefined
      if (users === undefined) throw new ProviderNonRaggiungibile()
      // By id: a new user at the head of the list moves others on to the next page.
      for (const user of users) found.set(user.id, user)
      if (users.length === 0 || (total === undefined ? users.length < PER_PAGE : found.size >= total)) {
        yield [...found.values()]
        return
      }
    }
    app.log.warn({ pages: MAX_PAGES }, 'the identity provider has more users than are listed')
    yield [...found.values()]
  }

  /** @throws AmministrazioneNonDisponibile */
  function requireServiceKey (): string {
    if (settings.serviceKey === undefined) throw new AmministrazioneNonDisponibile()
    return settings.serviceKey
  }
}

/** The caller's own token, which the provider requires for such changes. @throws ServeUnaPersona */
function ownSession (request: FastifyRequest, caller: PersonPrincipal) {
  const token = bearerTokenOf(caller, request)
  if (token === undefined) throw new ServeUnaPersona()
  return { token, session: { userId: caller.userId, sessionId: caller.sessionId! } }
}

function isSuccess ({ status }: IdpAnswer): boolean {
  return status >= 200 && status < 300
}

function refusal ({ status }: IdpAnswer): Error {
  return status === 401 || status === 403 ? new NonAutenticato() : new ProviderNonRaggiungibile()
}

function userProblem (answer: IdpAnswer): Error {
  return isSuccess(answer) || answer.status === 404 ? new UtenteNonTrovato() : refusal(answer)
}

function notCreated (answer: IdpAnswer): Error {
  const { status, code } = answer
  if (code === 'email_exists' || code === 'user_already_exists') return new EmailGiaRegistrata()
  if (code === 'weak_password') {
    return new CampiNonValidi({ campo: 'password', messaggio: 'non è abbastanza forte per il provider di identità' })
  }
  if (status === 400 || status === 422) {
    return new CampiNonValidi({ campo: 'email', messaggio: 'o password non accettata dal provider di identità' })
  }
  return refusal(answer)
}

function notUnlinked (answer: IdpAnswer, provider: string): Error {
  switch (answer.code) {
    case 'single_identity_not_deletable': return new UnicaIdentita()
    case 'identity_not_found': return new ProviderNonCollegato(provider)
    case 'email_conflict_identity_not_deletable': return new EmailGiaRegistrata()
    case 'manual_linking_disabled': return new ScollegamentoNonAmmesso()
    default: return refusal(answer)
  }
}
