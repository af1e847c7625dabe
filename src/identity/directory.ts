import type { FastifyRequest } from 'fastify'
import type { AuthUser } from '#schemas/auth/user.ts'
import type { ClientConfig, OperatorBody } from '#schemas/operator.ts'
import type { Session } from '#schemas/session.ts'
import type { Author } from '#src/services/audit/log.ts'
import type { Principal } from '#src/http/auth.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'

/** All users, or operators and administrators only. */
export type PeopleList = 'users' | 'operators'

/** The position of a person in a list. */
export interface PeoplePosition { created_at: string, id: string }

export interface PeopleRange { limit?: number | undefined, after?: PeoplePosition | undefined, isCounted: boolean }

export interface ListedPeople {
  /** The length of the whole list. The embedded provider counts it only with `isCounted`. */
  total: number | undefined
  /** The users in batches. The embedded provider reads each batch while the earlier ones are sent. */
  batches: AsyncIterable<AuthUser[]>
}

/**
 * The interface of an identity provider, embedded or external, for this API. Methods that ask an external provider also
 * throw ProviderNonRaggiungibile, and AmministrazioneNonDisponibile when they need the service key and none is set.
 */
export interface Directory {
  /** The base URL and the anonymous key for the configuration of the provider's clients. */
  readonly clientConfig: ClientConfig
  /**
   * @param noteDone called after the operator was created, in the same transaction if the provider is embedded
   * @throws EmailGiaRegistrata, CampiNonValidi when an external provider rejects input that this API accepted
   */
  createOperator (body: OperatorBody, by: Author, noteDone: (tx: Executor) => Promise<void>): Promise<AuthUser>
  /** @throws UtenteNonTrovato when no operator or administrator has this id */
  checkOperator (id: string): Promise<void>
  /**
   * Sets a person's profile picture: stores it in a transaction, and saves its URL in the person's metadata.
   * @returns the result of `store`
   * @throws UtenteNonTrovato
   */
  setPicture<T> (id: string, url: string, by: Author, store: (tx: Transaction) => Promise<T>): Promise<T>
  /** The people of a list: all, or with `limit` the next ones after a position, newest first. */
  people (list: PeopleList, range: PeopleRange): Promise<ListedPeople>
  unlink (request: FastifyRequest, caller: PersonPrincipal, provider: string): Promise<void>
  /** The caller's active sessions. */
  sessions (caller: PersonPrincipal): Promise<Session[]>
  /**
   * Revokes all sessions of the caller and returns their number. Their tokens are rejected from then on. A key that was
   * made with the password alone does not revoke sessions and keys with a second factor, if the person has one.
   * @param alsoKeys whether to revoke the caller's API keys as well
   * @throws ServeUnaPersona when the provider is external and the caller uses no session
   */
  revokeAll (request: FastifyRequest, caller: PersonPrincipal, alsoKeys: boolean): Promise<number>
  /**
   * Locks the caller's session, so that a revocation of all sessions waits for this transaction.
   * @returns whether a second factor was proven in the session
   * @throws NonAutenticato when the session has already ended, SecondoFattoreRichiesto when a factor was enrolled
   * meanwhile
   */
  lockSession (tx: Transaction, caller: Principal): Promise<boolean>
  /**
   * Requires the second factor of a person who has one. The embedded provider locks the account, so that it gets no
   * second factor during the transaction. An external provider's account cannot be locked.
   * @throws NonAutenticato when the session has ended, or the person is banned or no longer exists,
   * SecondoFattoreRichiesto when the person has a second factor and the session or key was made with the password alone
   */
  requireLevel (tx: Transaction, caller: PersonPrincipal): Promise<void>
}

export type PersonPrincipal = Principal & { userId: string }

export function isPerson (principal: Principal): principal is PersonPrincipal {
  return principal.userId !== undefined
}
