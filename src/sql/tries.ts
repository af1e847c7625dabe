import type { FastifyInstance } from 'fastify'
import { network } from '#src/lib/addresses.ts'
import type { Author } from '#src/services/audit/log.ts'

const MINUTE_MS = 60_000
const OWN = { max: 5, windowMs: 15 * MINUTE_MS }
/** Wrong passwords: of one caller, of one address, and of all. */
const PER_CALLER = { name: 'sql/caller', ...OWN }
const PER_ADDRESS = { name: 'sql/address', ...OWN }
const OF_ALL = { name: 'sql', max: 20, windowMs: 60 * MINUTE_MS }

/**
 * Judges one try of the password, and writes a wrong one down in the audit log.
 * @returns the seconds to wait after too many wrong ones, however right this one is; 0: it counts
 */
export async function judgeTry (app: FastifyInstance, author: Author, isRight: boolean): Promise<number> {
  const by = isRight ? 0 : 1
  const limits = [[PER_CALLER, author.actor], [PER_ADDRESS, network(author.ip)], [OF_ALL, '']] as const
  for (const [limit, subject] of limits) {
    const seconds = await app.countTry(limit, [subject], by)
    if (seconds > 0) return seconds
  }
  if (!isRight) await app.audit.append(app.db, { ...author, action: 'sql', details: { esito: 'password_errata' } })
  return 0
}
