import type { FastifyBaseLogger } from 'fastify'
import { connect } from './connect.ts'

/**
 * Whether a pooler leads to the same database as the direct way. It is also said what no session sets there: how long a
 * statement may take.
 */
export async function isSamePlace (pooled: string, direct: string, log: FastifyBaseLogger): Promise<boolean> {
  const shared = connect(pooled, 1, {}, undefined, true)
  const own = connect(direct, 1)
  const look = async ({ sql }: Pick<typeof own, 'sql'>) => {
    const [found] = await sql<[{ place: string, limit: string }]>`
      select pg_postmaster_start_time() || ' ' || current_database() as place,
        current_setting('statement_timeout') as limit`
    return found
  }
  try {
    const [there, here] = await Promise.all([look(shared), look(own)])
    if (there.limit === '0') {
      log.warn('through the pooler a statement may take any time: alter role … set statement_timeout = \'30s\'')
    }
    return there.place === here.place
  } finally {
    await Promise.all([shared.close(), own.close()])
  }
}
