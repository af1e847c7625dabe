import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AuthUser } from '#schemas/auth/user.ts'
import type { ClientConfig, OperatorBody } from '#schemas/operator.ts'
import type { Session } from '#schemas/session.ts'
import { CampiNonValidi, NonAutenticato, SecondoFattoreRichiesto, ServeUnaPersona } from '#src/lib/errors.ts'
import { authorOf, type AuditEntry, type Author } from '#src/services/audit/log.ts'
import type { Principal } from '#src/http/auth.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import type {
  Directory, ListedPeople, PeopleList, PeoplePosition, PeopleRange, PersonPrincipal
} from '../directory.ts'
import { accountFingerprint, normalizeEmail } from '../people/email.ts'
import { presentSession } from '../people/presenters.ts'
import { isStaff } from '../people/roles.ts'
import {
  AmministrazioneNonDisponibile, EmailGiaRegistrata, ProviderNonCollegato, ProviderNonRaggiungibile,
  ScollegamentoNonAmmesso, UnicaIdentita, UtenteNonTrovato
} from '../errors.ts'
import { revokeKeys } from '../keys/key-store.ts'
import { clientOf } from '../sign-in/person-sessions.ts'
import { bearerTokenOf } from './external-authenticator.ts'
import type { IdpResponse, IdpClient, Method } from './idp-client.ts'
import type { SeenSessions } from './seen-sessions.ts'
import type { ExternalSettings } from './external-settings.ts'
import { ENDED_CODES, type TokenLookup, type UserLookup } from './user-lookup.ts'
import { readUser, readUsers } from './read-users.ts'

interface ExternalDirectoryParts {
  settings: ExternalSettings
  client: IdpClient
  tokens: TokenLookup
  seen: SeenSessions
  /** Undefined without the service key. Then API keys do not exist. */
  users: UserLookup | undefined
}

const PER_PAGE = 1000
/** Maximum pages that are read of a list. The users on further pages are omitted, with a warning. */
const MAX_PAGES = 100

/** The users of the external provider. The audit log records every change there before the request and after it. */
export class ExternalDirectory implements Directory {
  readonly clientConfig: ClientConfig
  readonly #app: FastifyInstance
  readonly #parts: ExternalDirectoryParts

  constructor (app: FastifyInstance, parts: ExternalDirectoryParts) {
    this.#app = app
    this.#parts = parts
    this.clientConfig = { backendUrl: parts.settings.url, backendKey: parts.settings.anonKey }
  }

  async createOperator (
    { email, password, name, surname }: OperatorBody, by: Author, noteDone: (tx: Executor) => Promise<void>
  ): Promise<AuthUser> {
    const { db, identity: { keys } } = this.#app
    const object = `account:${accountFingerprint(keys, email)}`
    const app_metadata = { role: 'operator' }
    const entry: AuditEntry = { ...by, action: 'utente_creato', object, details: app_metadata }
    const body = {
      email: normalizeEmail(email), password, email_confirm: true, app_metadata, user_metadata: { name, surname }
    }
    this.#requireServiceKey()
    return await audited(this.#app, entry, async () => {
      const response = await this.#asService('POST', '/admin/users', body)
      const user = isSuccess(response) ? readUser(response.body) : undefined
      if (user === undefined) throw notCreated(response)
      await noteDone(db)
      return user
    }, ({ id }) => ({ user: id }))
  }

  async checkOperator (id: string): Promise<void> {
    const response = await this.#asService('GET', `/admin/users/${id}`)
    const user = isSuccess(response) ? readUser(response.body) : undefined
    if (user === undefined || !isStaff(user.app_metadata)) throw userProblem(response)
  }

  async setPicture<T> (id: string, url: string, by: Author, store: (tx: Transaction) => Promise<T>): Promise<T> {
    this.#requireServiceKey()
    return await audited(this.#app, { ...by, action: 'immagine_profilo', object: `user:${id}` }, async () => {
      // The provider does not change fields that the request omits.
      const response = await this.#asService('PUT', `/admin/users/${id}`, { user_metadata: { avatar_url: url } })
      if (!isSuccess(response)) throw userProblem(response)
      return await this.#app.db.transaction(store)
    })
  }

  async people (list: PeopleList, { limit, after }: PeopleRange): Promise<ListedPeople> {
    // The provider can neither filter by role, nor start a page after a person.
    const all = (await this.#users()).filter(({ app_metadata }) => list === 'users' || isStaff(app_metadata))
    if (limit === undefined) return { total: all.length, batches: Readable.from([all]) }
    const sorted = all.toSorted((a, b) => isBefore(a, b) ? -1 : 1)
    const page = sorted.filter((user) => after === undefined || isBefore(after, user)).slice(0, limit)
    return { total: all.length, batches: Readable.from([page]) }
  }

  async #users (): Promise<AuthUser[]> {
    const found = new Map<string, AuthUser>()
    for (let page = 1; page <= MAX_PAGES; page++) {
      const path = `/admin/users?page=${page}&per_page=${PER_PAGE}`
      const { status, body, total } = await this.#asService('GET', path)
      const users = status === 200 ? readUsers(body) : undefined
      if (users === undefined) throw new ProviderNonRaggiungibile()
      // Users are collected by id, because a new user at the head of the list moves one to the next page.
      for (const user of users) found.set(user.id, user)
      if (users.length === 0 || (total === undefined ? users.length < PER_PAGE : found.size >= total)) {
        return [...found.values()]
      }
    }
    this.#app.log.warn({ pages: MAX_PAGES }, 'the list of users is incomplete: the identity provider has too many')
    return [...found.values()]
  }

  async unlink (request: FastifyRequest, caller: PersonPrincipal, provider: string): Promise<void> {
    const { client, tokens } = this.#parts
    const { token, session } = ownSession(request, caller)
    const user = await tokens.user(token, session)
    if (user === undefined) throw new NonAutenticato()
    const identity = user.identities.find((each) => each.provider === provider)
    if (identity === undefined) throw new ProviderNonCollegato(provider)
    if (user.identities.length === 1) throw new UnicaIdentita()
    const object = `user:${caller.userId}`
    const entry: AuditEntry = { ...authorOf(request), action: 'identita_scollegata', object, details: { provider } }
    await audited(this.#app, entry, async () => {
      const response = await client.asPerson(token, 'DELETE', `/user/identities/${identity.identity_id}`)
      if (!isSuccess(response)) throw notUnlinked(response, provider)
    })
  }

  async sessions ({ userId, sessionId }: PersonPrincipal): Promise<Session[]> {
    return (await this.#parts.seen.list(userId)).map((row) => presentSession(row, sessionId))
  }

  async revokeAll (request: FastifyRequest, caller: PersonPrincipal, alsoKeys: boolean): Promise<number> {
    const { client, seen } = this.#parts
    const { token, session } = ownSession(request, caller)
    await seen.flush()
    const entry: AuditEntry = { ...authorOf(request), action: 'sessioni_revocate', object: `user:${caller.userId}` }
    const { revoked } = await audited(this.#app, entry, async () => {
      const response = await client.asPerson(token, 'POST', '/logout?scope=global')
      // If the session has already ended at the provider, it must still be ended here.
      if (!isSuccess(response) && !ENDED_CODES.has(response.code)) throw refusal(response)
      return await this.#app.db.transaction(async (tx) => ({
        revoked: await seen.endAll(tx, session, clientOf(request)),
        keys: alsoKeys ? await revokeKeys(tx, caller.userId) : 0
      }))
    }, (done) => done)
    return revoked
  }

  async lockSession (tx: Transaction, { userId, sessionId, recentUntil }: Principal): Promise<boolean> {
    const session = { userId: userId!, sessionId: sessionId! }
    if (!(await this.#parts.seen.lock(tx, session))) throw new NonAutenticato()
    return recentUntil !== undefined
  }

  /** The provider's factors cannot be locked. The level of a session is that of its accepted token. */
  async requireLevel (_tx: Transaction, { userId, sessionId, recentUntil }: PersonPrincipal): Promise<void> {
    if (sessionId !== undefined || recentUntil !== undefined) return
    const user = await this.#parts.users?.recent(userId)
    if (user?.factors?.some(({ status }) => status === 'verified')) throw new SecondoFattoreRichiesto()
  }

  async #asService (method: Method, path: string, body?: object): Promise<IdpResponse> {
    return await this.#parts.client.asService(this.#requireServiceKey(), method, path, body)
  }

  #requireServiceKey (): string {
    const { serviceKey } = this.#parts.settings
    if (serviceKey === undefined) throw new AmministrazioneNonDisponibile()
    return serviceKey
  }
}

/** Whether a person is before another one in a list with the newest first. */
function isBefore (one: PeoplePosition, other: PeoplePosition): boolean {
  const [first, second] = [Date.parse(one.created_at), Date.parse(other.created_at)]
  return first === second ? one.id > other.id : first > second
}

function ownSession (request: FastifyRequest, caller: PersonPrincipal) {
  const token = bearerTokenOf(caller, request)
  if (token === undefined) throw new ServeUnaPersona()
  return { token, session: { userId: caller.userId, sessionId: caller.sessionId! } }
}

function isSuccess ({ status }: IdpResponse): boolean {
  return status >= 200 && status < 300
}

function refusal ({ status }: IdpResponse): Error {
  return status === 401 || status === 403 ? new NonAutenticato() : new ProviderNonRaggiungibile()
}

function userProblem (response: IdpResponse): Error {
  return isSuccess(response) || response.status === 404 ? new UtenteNonTrovato() : refusal(response)
}

function notCreated (response: IdpResponse): Error {
  const { status, code } = response
  if (code === 'email_exists' || code === 'user_already_exists') return new EmailGiaRegistrata()
  if (code === 'weak_password') {
    return new CampiNonValidi({ campo: 'password', messaggio: 'non è abbastanza forte per il provider di identità' })
  }
  if (status === 400 || status === 422) {
    const messaggio = 'non è accettato dal provider di identità, o non lo è la password'
    return new CampiNonValidi({ campo: 'email', messaggio })
  }
  return refusal(response)
}

function notUnlinked (response: IdpResponse, provider: string): Error {
  switch (response.code) {
    case 'single_identity_not_deletable': return new UnicaIdentita()
    case 'identity_not_found': return new ProviderNonCollegato(provider)
    case 'email_conflict_identity_not_deletable': return new EmailGiaRegistrata()
    case 'manual_linking_disabled': return new ScollegamentoNonAmmesso()
    default: return refusal(response)
  }
}

/**
 * Executes a change at the provider, which no database transaction can undo. The audit log records the request before
 * the change, and the result after it. If the first record fails, no change is made.
 */
async function audited<T> (
  { db, audit }: Pick<FastifyInstance, 'db' | 'audit'>,
  entry: AuditEntry,
  work: () => Promise<T>,
  outcome: (result: T) => AuditEntry['details'] = () => ({})
): Promise<T> {
  const write = (phase: 'asked' | 'done' | 'failed', details: AuditEntry['details']) =>
    audit.append(db, { ...entry, details: { ...entry.details, phase, ...details } })
  await write('asked', {})
  try {
    const result = await work()
    // The change cannot be undone. If the entry cannot be written, `append` logs the error.
    await write('done', outcome(result)).catch(() => {})
    return result
  } catch (err) {
    const codice = err instanceof Error && 'code' in err ? String(err.code) : 'ERRORE_INTERNO'
    await write('failed', { codice }).catch(() => {})
    throw err
  }
}
