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
  /** The length of the whole list, if the caller asked to count it. */
  total: number | undefined
  /** The users in batches. The embedded provider reads each batch while the earlier ones are sent. */
  batches: AsyncIterable<AuthUser[]>
}

/** The interface of an identity provider, embedded or external, for this API. */
export interface Directory {
  /** The base URL and the public key for the configuration of the provider's clients. */
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
  /** The people of a list, newest first: all, or with `limit` the next ones after a position. */
  people (list: PeopleList, range: PeopleRange): Promise<ListedPeople>
  unlink (request: FastifyRequest, caller: PersonPrincipal, provider: string): Promise<void>
  /** The caller's active sessions. */
  sessions (caller: PersonPrincipal): Promise<Session[]>
  /**
   * Revokes all sessions of the caller and returns their number. Their tokens are rejected from then on.
   * @param alsoKeys whether to revoke the caller's API keys as well
   */
  revokeAll (request: FastifyRequest, caller: PersonPrincipal, alsoKeys: boolean): Promise<number>
  /**
   * Locks the caller's session, so that it does not end before the transaction.
   * @returns whether a second factor was proven in the session
   * @throws NonAutenticato when the session has already ended, SecondoFattoreRichiesto when a factor was enrolled
   * meanwhile
   */
  lockSession (tx: Transaction, caller: Principal): Promise<boolean>
  /**
   * Locks the caller's account, so that it gets no second factor during the transaction. Call it before any deletion.
   * @throws NonAutenticato when the person no longer exists, SecondoFattoreRichiesto when the person has a second
   * factor and the session or key was made with the password alone
   */
  requireLevel (tx: Transaction, caller: PersonPrincipal): Promise<void>
}

export type PersonPrincipal = Principal & { userId: string }

export function isPerson (principal: Principal): principal is PersonPrincipal {
  return principal.userId !== undefined
}
