import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { availableParallelism } from 'node:os'
import { ConfigError } from '#src/config/data-folder.ts'
import { type Config } from '#src/config/config.ts'
import type { SessionSettings } from './client.ts'
import { connect, type Connection, type Database } from './connect.ts'
import { EncodingError, migrate, NewerDatabaseError, SilentDatabaseError } from './migrate.ts'
import { startProblem } from './problems.ts'
import { startHealthCheck } from './health-check.ts'
import { createSockets } from './sockets.ts'

declare module 'fastify' {
  interface FastifyInstance {
    db: Database
    /** The driver's client, for streaming. */
    sql: Connection['sql']
    /**
     * Opens a separate pool to the same database. The server closes it on shutdown. Use it for work that must not wait
     * for other work, or must not delay it.
     * @param settings settings for the sessions of this pool
     */
    openPool (max: number, settings?: SessionSettings): Pick<Connection, 'db' | 'sql'>
    /** The URL for threads, which open their own sessions. It contains the password. */
    databaseUrl: string
    /** Called after a second signal: shortens the wait of the shutdown for a database that does not respond. */
    hurryEnd (): void
  }
}

interface DatabaseOptions {
  config: Config
  /** Aborts a start that waits for the embedded cluster. */
  signal?: AbortSignal | undefined
}

/** Timeouts of the health check in seconds: during shutdown, and after a second signal. */
const AT_END = 4
const AFTER_SECOND_SIGNAL = 1

const NEWER = 'il database è di una versione di Locanda più recente di questa: avviare quella, o ripristinare un ' +
  'salvataggio fatto con questa'

const SILENT = 'chi risponde a questo indirizzo non parla come PostgreSQL, o non risponde in tempo'

function otherEncoding (encoding: string): string {
  return `il database ha la codifica ${encoding}, e non UTF8: crearne un altro con ENCODING 'UTF8' TEMPLATE template0`
}

/** The database at `DATABASE_URL`, else the embedded one in `DATA_DIR`. The plugin migrates it and opens a pool. */
export default fp<DatabaseOptions>(async function database (app, options) {
  const { config, signal } = options
  const embedded = config.DATABASE_URL === undefined ? await startEmbedded(config.DATA_DIR, app.log, signal) : undefined
  const url = config.DATABASE_URL ?? embedded!.url
  app.addHook('onClose', async () => embedded?.stop())
  const report = (message: string, steps = {}) => app.log.info(steps, message)
  const upgrade = await migrate(url, {}, report).catch((err: unknown) => {
    if (err instanceof NewerDatabaseError) throw new ConfigError('DATABASE_URL', NEWER)
    if (err instanceof EncodingError) throw new ConfigError('DATABASE_URL', otherEncoding(err.message))
    const reason = err instanceof SilentDatabaseError ? SILENT : startProblem(err)
    throw reason === undefined ? err : new ConfigError(embedded ? 'DATA_DIR' : 'DATABASE_URL', reason)
  })
  if (upgrade) app.log.info(upgrade, 'database upgraded')
  const sockets = createSockets()
  const healthCheck = startHealthCheck(url, sockets, app.log)
  app.shutdownSignal.addEventListener('abort', () => healthCheck.hurry(AT_END))
  app.decorate('hurryEnd', () => healthCheck.hurry(AFTER_SECOND_SIGNAL))
  // Stop the check after all pools are closed. Until then it cuts connections to a database that hangs.
  app.addHook('onClose', () => healthCheck.stop())
  const openPool: FastifyInstance['openPool'] = (max, settings) => {
    const { db, sql, close } = connect(url, max, settings, sockets)
    app.addHook('onClose', close)
    return { db, sql }
  }
  // Two connections per core are enough for PostgreSQL. More queries would only wait inside it.
  const { db, sql } = openPool(Math.max(4, availableParallelism() * 2))
  app.decorate('db', db)
  app.decorate('sql', sql)
  app.decorate('openPool', openPool)
  app.decorate('databaseUrl', url)
}, { name: 'database', dependencies: ['shutdown'] })

async function startEmbedded (dataDir: string, log: FastifyBaseLogger, signal?: AbortSignal) {
  const embedded = await import('./embedded/cluster.ts')
  return await embedded.startEmbedded({ dataDir, isServer: true, signal, log: (message) => log.info(message) })
}
