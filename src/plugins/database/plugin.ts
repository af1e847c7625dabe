import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { availableParallelism } from 'node:os'
import { ConfigError, type Config } from '#src/config/config.ts'
import { connect, type Connection, type Database, type SessionSettings } from './connect.ts'
import { migrate, NewerDatabaseError, SilentDatabaseError } from './migrate.ts'
import { startProblem } from './problems.ts'

declare module 'fastify' {
  interface FastifyInstance {
    db: Database
    /** The driver's own client, for streaming. */
    sql: Connection['sql']
    /**
     * Opens a pool of its own to the same database, closed with the server: for work that must not wait behind other
     * work, or that other work must not wait behind. The driver puts statements on connections that are busy, too.
     */
    openPool (max: number, settings?: SessionSettings): Pick<Connection, 'db' | 'sql'>
  }
}

export interface DatabaseOptions {
  config: Config
  /** What every session of the server has: the keys of triggers that seal. */
  settings: SessionSettings
}

const NEWER = 'il database è di una versione di Locanda più recente di questa: avviare quella, o ripristinare un ' +
  'salvataggio fatto con questa'

const SILENT = 'chi risponde a questo indirizzo non parla come PostgreSQL, o non risponde in tempo'

/** The database: the one named by `DATABASE_URL`, else the embedded one in `DATA_DIR`; migrated, then opened. */
export default fp<DatabaseOptions>(async function database (app, { config, settings }) {
  const embedded = config.DATABASE_URL === undefined ? await startEmbedded(config.DATA_DIR, app.log) : undefined
  const url = config.DATABASE_URL ?? embedded!.url
  app.closing.addEventListener('abort', () => embedded?.letGo())
  app.addHook('onClose', async () => embedded?.stop())
  await migrate(url, settings).catch((err: unknown) => {
    if (err instanceof NewerDatabaseError) throw new ConfigError('DATABASE_URL', NEWER)
    const reason = err instanceof SilentDatabaseError ? SILENT : startProblem(err)
    throw reason === undefined ? err : new ConfigError(embedded ? 'DATA_DIR' : 'DATABASE_URL', reason)
  })
  // Two connections a core keep PostgreSQL busy; more only queue inside it.
  const openPool: FastifyInstance['openPool'] = (max, own = {}) => {
    const { db, sql, close } = connect(url, max, { ...settings, ...own })
    app.addHook('onClose', close)
    return { db, sql }
  }
  const { db, sql } = openPool(Math.max(4, availableParallelism() * 2))
  app.decorate('db', db)
  app.decorate('sql', sql)
  app.decorate('openPool', openPool)
}, { name: 'database', dependencies: ['closing'] })

async function startEmbedded (dataDir: string, log: FastifyBaseLogger) {
  const { startEmbedded } = await import('./embedded/cluster.ts')
  return startEmbedded({ dataDir, log: (message: string) => log.info(message) })
}
