import { lookup } from 'node:dns/promises'
import { readdirSync } from 'node:fs'
import type CloseWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Config } from './config/config.ts'
import type { Account } from './identity/index.ts'
import { loadingError } from './lib/missing-packages.ts'
import { speedUpLoading } from './loading.ts'
import type { ProcessFigures } from './http/metrics.ts'

/** The first signal closes the server. Later signals end the shutdown delay and shorten the wait for the database. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM'] as const

/** Aborts at the first signal. */
const interrupted = new AbortController()

const STARTED = Date.now() / 1000 - process.uptime()

/** Resource usage of this process, for the metrics. */
function processFigures (): ProcessFigures {
  const { user, system } = process.cpuUsage()
  return {
    residentBytes: process.memoryUsage.rss(),
    cpuSeconds: (user + system) / 1e6,
    startedAt: STARTED,
    descriptors: process.platform === 'linux' ? readdirSync('/proc/self/fd').length : undefined
  }
}

/** Starts the process: environment, configuration, build, listen, signals. Only entry points read `process`. */
async function start (): Promise<void> {
  speedUpLoading()
  const { ConfigError, configWarnings, makeDataFolder, readConfig, requireBackupFolder } =
    await import('./config/config.ts')
  const { build } = await import('./app.ts')
  const { firstAdministrator } = await import('./identity/index.ts')
  const { default: grace } = await import('close-with-grace')
  const config = readConfig(process.env)
  makeDataFolder(config.DATA_DIR)
  if (config.BACKUP_DIR !== undefined) requireBackupFolder(config.BACKUP_DIR)
  const building = build({ config, processFigures, descriptors: descriptorLimit(), signal: interrupted.signal })
  // From here on signals close the server. Without this, a signal would leave PostgreSQL running.
  closeOnSignals(config, grace, building.catch(() => undefined))
  const app = await building
  if (interrupted.signal.aborted) return
  const { HOST: host, PORT: port } = config
  const address = await listen(app, host, port).catch(async (err: NodeJS.ErrnoException) => {
    await app.close()
    const variable = err.code === 'ENOTFOUND' || err.code === 'EADDRNOTAVAIL' ? 'HOST' : 'PORT'
    throw new ConfigError(variable, `impossibile ascoltare su ${host}:${port} (${err.code})`)
  })
  // Only after the server listens, because the generated password is printed only once.
  const administrator = await firstAdministrator(app, config).catch(async (err: unknown) => {
    await app.close()
    throw err
  })
  // The password is printed once, on stderr. Logs must not contain it, because other people read them.
  if (administrator) process.stderr.write(welcome(administrator))
  for (const warning of configWarnings(config)) app.log.warn(warning)
  app.log.info({ address, mode: config.ALLOGGIATI_MODE }, 'ready')
  if (process.stdout.isTTY) (app.log as Logger).flush(() => process.stdout.write(startLine(config.PUBLIC_URL, address)))
}

/** A line for a person at a terminal, after the log lines of the start. */
function startLine (publicUrl: string, address: string): string {
  const addresses = [...new Set([publicUrl, address])].join(' · ')
  return `\nLocanda è pronta: ${addresses} (accesso: ${publicUrl}/auth/, API: ${publicUrl}/docs). ` +
    'Premere Ctrl+C per fermarla.\n\n'
}

/** Closes the server after the first signal or unexpected failure, and then ends the process. */
function closeOnSignals (
  config: Config, grace: typeof CloseWithGrace, built: Promise<FastifyInstance | undefined>
): void {
  // Longer than the longest call to the police service, because an aborted call would have an unknown outcome.
  const delay = 75_000 + 2 * config.DRAIN_SECONDS * 1000
  const { close } = grace({ delay, logger: false, skip: [...SIGNALS] }, async ({ err }) => {
    const app = await built
    if (err) app?.log.fatal({ err }, 'unexpected failure')
    else await app?.beginShutdown()
    await app?.close()
  })
  // close-with-grace exits at a second signal, and would leave PostgreSQL running. Terminal and npm both send Ctrl-C.
  const onSignal = async (signal: NodeJS.Signals) => {
    const isFirst = !interrupted.signal.aborted
    interrupted.abort()
    if (isFirst) close()
    const app = await built
    app?.log.info({ signal }, isFirst ? 'shutting down' : 'already shutting down')
    if (isFirst) return
    app?.endShutdown()
    app?.hurryEnd()
  }
  for (const each of SIGNALS) process.on(each, (signal) => { void onSignal(signal) })
}

/**
 * Listens on one address of `localhost`. For a second one Fastify starts another server, which the connection limit
 * does not cover.
 */
async function listen (app: FastifyInstance, host: string, port: number): Promise<string> {
  const { address } = host === 'localhost' ? await lookup(host, { order: 'ipv4first' }) : { address: host }
  return app.listen({ port, host: address })
}

/** The process's limit of open files and connections (`ulimit -n`). Windows has none. */
function descriptorLimit (): number | undefined {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files: { soft: number | 'unlimited' } } }
  const limit = Number(userLimits?.open_files.soft)
  return Number.isInteger(limit) ? limit : undefined
}

function welcome ({ email, password }: Account): string {
  return [
    `Creato il primo amministratore: ${email}`,
    `Password: ${password}`,
    'Non sarà mostrata di nuovo, e va sostituita al primo accesso.',
    ''
  ].join('\n')
}

start().catch(async (err: unknown) => {
  // The signal handler ends the process.
  if (interrupted.signal.aborted) return
  const reason = loadingError(err) ?? (await import('./start-error.ts')).startError(err)
  // Wait for stdout, so that this is the last line.
  process.stdout.write('', () => {
    process.stderr.write(`Locanda non può partire: ${reason}\n`, () => process.exit(1))
  })
})
