import type { FastifyRequest } from 'fastify'
import type { AuthUser } from '#schemas/auth/user.ts'
import type { OperatorBody } from '#schemas/operator.ts'
import type { Session } from '#schemas/session.ts'
import type { Author } from '#src/plugins/audit/log.ts'
import type { Principal } from '#src/plugins/auth.ts'

/** What the API asks of an identity provider, be it the embedded one or another. */
export interface Directory {
  /** Where a client of the provider begins: its base URL and public key. */
  readonly entrance: { backendUrl: string, backendKey: string }
  /** @throws EmailGiaRegistrata, CampiNonValidi */
  createOperator (body: OperatorBody, by: Author): Promise<AuthUser>
  /** Everybody, newest first. */
  users (): Promise<AuthUser[]>
  /** @throws ProviderNonCollegato, UnicaIdentita, UltimoAmministratore */
  unlink (request: FastifyRequest, caller: Person, provider: string): Promise<void>
  /** The caller's sessions that go on. */
  sessions (caller: Person): Promise<Session[]>
  /** Ends them all; returns how many there were. Their tokens are refused from then on. */
  revokeAll (request: FastifyRequest, caller: Person): Promise<number>
}

/** A caller with a person behind it. */
export type Person = Principal & { userId: string }
