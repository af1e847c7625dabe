import type { FastifyRequest } from 'fastify'
import type { AuthUser } from '#schemas/auth/user.ts'
import type { ClientConfig, OperatorBody } from '#schemas/operator.ts'
import type { Session } from '#schemas/session.ts'
import type { Author } from '#src/services/audit/log.ts'
import type { Principal } from '#src/http/auth.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'

/** What the API's own endpoints ask of an identity provider, embedded or external. */
export interface Directory {
  /** The base URL and the public key that a client of the provider starts with. */
  readonly clientConfig: ClientConfig
  /**
   * @param noteDone what else is written when the operator exists, in the same transaction where there is one
   * @throws EmailGiaRegistrata; CampiNonValidi where an external provider refuses what we took
   */
  createOperator (body: OperatorBody, by: Author, noteDone: (tx: Executor) => Promise<void>): Promise<AuthUser>
  /** @throws UtenteNonTrovato where no operator or administrator has this id */
  checkOperator (id: string): Promise<void>
  /**
   * Gives a person a profile picture: stores it in a transaction, and notes its address with the person.
   * @throws UtenteNonTrovato
   */
  setPicture (id: string, url: string, by: Author, store: (tx: Transaction) => Promise<void>): Promise<void>
  /** Operators and administrators, newest first. */
  operators (): Promise<AuthUser[]>
  /** All users, newest first, in batches: an embedded provider has them read one after the other. */
  users (): AsyncIterable<AuthUser[]>
  unlink (request: FastifyRequest, caller: PersonPrincipal, provider: string): Promise<void>
  /** The caller's sessions that have not ended. */
  sessions (caller: PersonPrincipal): Promise<Session[]>
  /**
   * Ends all sessions of the caller and returns how many there were. From then on their tokens are refused.
   * @param alsoKeys whether the caller's API keys are revoked, too
   */
  revokeAll (request: FastifyRequest, caller: PersonPrincipal, alsoKeys: boolean): Promise<number>
  /**
   * Until the transaction ends, the caller's session does not.
   * @returns whether a second factor was proven in it
   * @throws NonAutenticato when it has ended already; SecondoFattoreRichiesto when a factor was enrolled meanwhile
   */
  lockSession (tx: Transaction, caller: Principal): Promise<boolean>
  /**
   * Until the transaction ends, the caller's person gets no second factor. For what takes something from the account.
   * @throws NonAutenticato for who is gone; SecondoFattoreRichiesto for a session or a key with the password alone, of
   * somebody who has a second factor
   */
  requireLevel (tx: Transaction, caller: PersonPrincipal): Promise<void>
}

export type PersonPrincipal = Principal & { userId: string }

export function isPerson (principal: Principal): principal is PersonPrincipal {
  return principal.userId !== undefined
}
