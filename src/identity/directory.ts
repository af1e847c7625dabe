import type { FastifyRequest } from 'fastify'
import type { AuthUser } from '#schemas/auth/user.ts'
import type { ClientConfig, OperatorBody } from '#schemas/operator.ts'
import type { Session } from '#schemas/session.ts'
import type { Author } from '#src/services/audit/log.ts'
import type { Principal } from '#src/http/auth.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'

/** All users, or operators and administrators only. */
export type PeopleList = 'users' | 'operators'

/** The place of a person in a list. */
export interface PeoplePosition { created_at: string, id: string }

export interface PeopleRange { limit?: number | undefined, after?: PeoplePosition | undefined, isCounted: boolean }

export interface ListedPeople {
  /** The length of the whole list, when it is to be counted. */
  total: number | undefined
  /** The embedded provider reads them while they are sent. */
  batches: AsyncIterable<AuthUser[]>
}

/** The interface of an identity provider, embedded or external, for this API. */
export interface Directory {
  /** The base URL and the public key that a client of the provider is configured with. */
  readonly clientConfig: ClientConfig
  /**
   * @param noteDone further writes once the operator exists, in the same transaction where there is one
   * @throws EmailGiaRegistrata; CampiNonValidi when an external provider rejects input that we accepted
   */
  createOperator (body: OperatorBody, by: Author, noteDone: (tx: Executor) => Promise<void>): Promise<AuthUser>
  /** @throws UtenteNonTrovato when no operator or administrator has this id */
  checkOperator (id: string): Promise<void>
  /**
   * Sets a person's profile picture: stores it in a transaction and saves its URL with the person.
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
   * @param alsoKeys whether the caller's API keys are revoked, too
   */
  revokeAll (request: FastifyRequest, caller: PersonPrincipal, alsoKeys: boolean): Promise<number>
  /**
   * Keeps the caller's session from ending before the transaction does.
   * @returns whether a second factor was proven in it
   * @throws NonAutenticato when it has ended already; SecondoFattoreRichiesto when a factor was enrolled meanwhile
   */
  lockSession (tx: Transaction, caller: Principal): Promise<boolean>
  /**
   * Keeps the caller's account from getting a second factor during the transaction. Call it before removing anything.
   * @throws NonAutenticato when the person no longer exists; SecondoFattoreRichiesto when the person has a second
   * factor and the session or key was made with the password alone
   */
  requireLevel (tx: Transaction, caller: PersonPrincipal): Promise<void>
}

export type PersonPrincipal = Principal & { userId: string }

export function isPerson (principal: Principal): principal is PersonPrincipal {
  return principal.userId !== undefined
}
