import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { availableParallelism } from 'node:os'
import type { Config } from '#src/config/config.ts'
import type { SessionSettings } from './client.ts'
import { connect, type Connection } from './connect.ts'
import { mayPass, postgresError } from './problems.ts'
import { followReplica, OLD_AFTER_MS } from './replica.ts'
import { createSockets } from './sockets.ts'

/** A database to read. */
export type Source = Pick<Connection, 'db' | 'sql'>

/** Reads, at the replica or at the primary. The work may be done twice, and changes nothing. */
export type Read = <T>(work: (source: Source) => Promise<T>) => Promise<T>

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * For what tolerates a moment, as lists do: reads at the replica of `DATABASE_READ_URL` where that is fresh and has
     * all that this caller has written through this process, else at the primary. What fails at the replica for want of
     * it is read at the primary.
     */
    reading (request: FastifyRequest): Read
    /** The same with pools of its own, as `openPool` opens them. */
    openReading (max: number, settings: SessionSettings): FastifyInstance['reading']
  }
}

/** A statement that came to the end of its time would do so again. */
const QUERY_CANCELED = '57014'

const READ_ONLY: SessionSettings = { default_transaction_read_only: 'on' }

/** Reads that need not be the primary's go to a replica, where there is one. */
export default fp<{ config: Config }>(async function reading (app, { config: { DATABASE_READ_URL: url } }) {
  if (url === undefined) {
    const at = (source: Source): FastifyInstance['reading'] => () => (work) => work(source)
    app.decorate('reading', at(app))
    app.decorate('openReading', (max, settings) => at(app.openPool(max, settings)))
    return
  }
  const sockets = createSockets()
  const replica = followReplica(app.openPool(1).sql, url, sockets, app.log)
  app.addHook('onClose', () => replica.stop())
  const writes = lastWrites(app)

  const read = (primary: Source, max: number, settings: SessionSettings): FastifyInstance['reading'] => {
    const { db, sql, close } = connect(url, max, { ...READ_ONLY, ...settings }, sockets)
    app.addHook('onClose', close)
    return (request) => async (work) => {
      if (replica.freshAsOf() <= writes.of(request)) return await work(primary)
      try {
        return await work({ db, sql })
      } catch (err) {
        if (!mayPass(err) || postgresError(err)?.code === QUERY_CANCELED) throw err
        replica.distrust()
        return await work(primary)
      }
    }
  }
  app.decorate('reading', read(app, Math.max(4, availableParallelism() * 2), {}))
  app.decorate('openReading', (max, settings) => read(app.openPool(max, settings), max, settings))

  // The metrics are registered later.
  app.addHook('onReady', async () => {
    app.addGauge({
      name: 'replica_fresh',
      help: '1 while lists are read at the replica, 0 while it is behind or away.',
      read: async () => replica.freshAsOf() > -Infinity ? 1 : 0
    })
  })
}, { name: 'reading', dependencies: ['database'] })

/**
 * When each caller has last written through this process: a replica that is not known to have that does not answer him.
 * Of earlier writes than a fresh replica can lack nothing is kept.
 */
function lastWrites (app: FastifyInstance) {
  const writes = new Map<string, number>()
  app.addHook('onSend', async ({ method, principal }) => {
    if (method === 'GET' || method === 'HEAD' || !principal) return
    const now = performance.now()
    writes.delete(principal.id)
    writes.set(principal.id, now)
    for (const [caller, at] of writes) {
      if (now - at < OLD_AFTER_MS) break
      writes.delete(caller)
    }
  })
  return { of: ({ principal }: FastifyRequest) => (principal && writes.get(principal.id)) ?? -Infinity }
}
