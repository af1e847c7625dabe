import { lookup } from 'node:dns/promises'
import { readdirSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Config } from './config/config.ts'
import type { Account } from './identity/index.ts'
import { loadingError } from './lib/missing-packages.ts'
import { releaseMemory, speedUpLoading } from './loading.ts'
import type { EarlyCluster } from './plugins/database/embedded/early.ts'
import type { ProcessFigures } from './plugins/metrics.ts'

/** They close the server; further ones end its waiting for a database that does not answer. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM'] as const

const STARTED = Date.now() / 1000 - process.uptime()

/** What the metrics say of this process. */
function processFigures (): ProcessFigures {
  const { user, system } = process.cpuUsage()
  return {
    residentBytes: process.memoryUsage.rss(),
    cpuSeconds: (user + system) / 1e6,
    startedAt: STARTED,
    descriptors: process.platform === 'linux' ? readdirSync('/proc/self/fd').length : undefined
  }
}

/** The process: environment → configuration → build → listen → signals. Nothing below this file reads `process`. */
async function start (): Promise<void> {
  speedUpLoading()
  const { ConfigError, makeDataFolder, readConfig } = await import('./config/config.ts')
  const config = readConfig(process.env)
  makeDataFolder(config.DATA_DIR)
  const isEmbedded = config.DATABASE_URL === undefined
  const held = isEmbedded ? holdSignals() : undefined
  const early = isEmbedded ? await beginDatabase(config.DATA_DIR) : undefined
  const loaded = load(config, early, held)
  const { app, configWarnings, firstAdministrator, grace } = await loaded.catch(async (err: unknown) => {
    await early?.abandon()
    throw err
  })
  // Longer than the longest call to the police: an end in the middle of one would leave its outcome unknown.
  const delay = 75_000 + 2 * config.DRAIN_SECONDS * 1000
  const { close } = grace.default({ delay, logger: false, skip: [...SIGNALS] }, async ({ err }) => {
    if (err) app.log.fatal({ err }, 'unexpected failure')
    else await app.drain()
    await app.close()
  })
  // The library ends the process at a second signal, and would leave PostgreSQL behind. A terminal and what stands
  // between it and the server may well hand one Ctrl-C on twice.
  let signals = 0
  for (const each of SIGNALS) {
    process.on(each, (signal) => {
      app.log.info({ signal }, signals++ === 0 ? 'closing' : 'closing already')
      if (signals === 1) void close()
      else {
        app.endDraining()
        app.hurryEnd()
      }
    })
  }
  const { HOST: host, PORT: port } = config
  const address = await listen(app, host, port).catch(async (err: NodeJS.ErrnoException) => {
    await app.close()
    const variable = err.code === 'ENOTFOUND' || err.code === 'EADDRNOTAVAIL' ? 'HOST' : 'PORT'
    throw new ConfigError(variable, `impossibile ascoltare su ${host}:${port} (${err.code})`)
  })
  // After the port is ours: a password that is shown to nobody would be lost.
  const administrator = await firstAdministrator(app, config).catch(async (err: unknown) => {
    await app.close()
    throw err
  })
  // The password is shown this once and on stderr: log lines are kept, and other people read them.
  if (administrator) process.stderr.write(welcome(administrator))
  releaseMemory()
  for (const warning of configWarnings(config)) app.log.warn(warning)
  app.log.info({ address, mode: config.ALLOGGIATI_MODE }, 'ready')
}

/** A new database is made by another process, in whose time this one loads the rest of the program. */
async function beginDatabase (dataDir: string): Promise<EarlyCluster> {
  const { startEarly } = await import('./plugins/database/embedded/early.ts')
  const early = startEarly(dataDir)
  // Loading keeps this thread busy: initdb must have been started before.
  await early.isUnderWay
  return early
}

/**
 * A signal that arrives during the start of an embedded database would leave it behind: it is obeyed when that can be
 * stopped, or when another one comes later (one Ctrl-C may be handed on twice).
 */
function holdSignals () {
  let held: NodeJS.Signals | undefined
  let since = 0
  const release = () => SIGNALS.forEach((each) => process.off(each, hold))
  const obey = (signal: NodeJS.Signals) => {
    release()
    process.kill(process.pid, signal)
  }
  const hold = (signal: NodeJS.Signals) => {
    if (!held) since = performance.now()
    else if (performance.now() - since > 2000) obey(signal)
    held ??= signal
  }
  for (const each of SIGNALS) process.on(each, hold)
  return {
    release,
    /** Ends the process if a signal has come. */
    async obeyAfter (stop: () => Promise<void>) {
      // Loading has kept the event loop busy: a signal that came meanwhile is delivered in its next turn.
      await setImmediate()
      await setImmediate()
      if (!held) return
      await stop()
      obey(held)
    }
  }
}

async function load (config: Config, early: EarlyCluster | undefined, held?: ReturnType<typeof holdSignals>) {
  const [{ build }, { configWarnings }, { firstAdministrator }, grace] = await Promise.all([
    import('./app.ts'),
    import('./config/warnings.ts'),
    import('./identity/index.ts'),
    import('close-with-grace')
  ])
  await held?.obeyAfter(async () => early?.abandon())
  const app = await build({ config, early, processFigures, descriptors: descriptorLimit() })
  await held?.obeyAfter(() => app.close())
  held?.release()
  return { app, configWarnings, firstAdministrator, grace }
}

/**
 * Of `localhost` one address: for a further one Fastify would make a server of its own, whose connections nothing
 * bounds.
 */
async function listen (app: FastifyInstance, host: string, port: number): Promise<string> {
  const { address } = host === 'localhost' ? await lookup(host, { order: 'ipv4first' }) : { address: host }
  return app.listen({ port, host: address })
}

/** How many files and connections the system lets this process have open (`ulimit -n`); Windows knows no such limit. */
function descriptorLimit (): number | undefined {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files: { soft: number | 'unlimited' } } }
  const limit = Number(userLimits?.open_files.soft)
  return Number.isInteger(limit) ? limit : undefined
}

function welcome ({ email, password }: Account): string {
  return [
    `Creato il primo amministratore: ${email}`,
    `Password: ${password}`,
    'Non sarà mostrata di nuovo: conservarla, o cambiarla al primo accesso.',
    ''
  ].join('\n')
}

start().catch(async (err: unknown) => {
  const reason = loadingError(err) ?? (await import('./start-error.ts')).startError(err)
  // The lines of the log come first: this is the last one.
  process.stdout.write('', () => {
    process.stderr.write(`Locanda non può partire: ${reason}\n`, () => process.exit(1))
  })
})
