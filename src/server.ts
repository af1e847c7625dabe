import type { Account } from './identity/index.ts'
import { releaseMemory, speedUpLoading } from './loading.ts'

/** They close the server; more of them change nothing. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM'] as const

/** The process: environment → configuration → build → listen → signals. Nothing below this file reads `process`. */
async function start (): Promise<void> {
  speedUpLoading()
  const [{ build }, { ConfigError, readConfig }, { firstAdministrator }, { default: closeWithGrace }] =
    await Promise.all([
      import('./app.ts'),
      import('./config/config.ts'),
      import('./identity/index.ts'),
      import('close-with-grace')
    ])
  const config = readConfig(process.env)
  const app = await build({
    config,
    residentMemory: () => process.memoryUsage.rss(),
    descriptors: descriptorLimit()
  })
  // Longer than the longest call to the police: an end in the middle of one would leave its outcome unknown.
  const { close } = closeWithGrace({ delay: 75_000, logger: false, skip: [...SIGNALS] }, async ({ err }) => {
    if (err) app.log.fatal({ err }, 'unexpected failure')
    await app.close()
  })
  // The library ends the process at a second signal, and would leave PostgreSQL behind. A terminal and what stands
  // between it and the server may well hand one Ctrl-C on twice.
  let signals = 0
  for (const each of SIGNALS) {
    process.on(each, (signal) => {
      app.log.info({ signal }, signals++ === 0 ? 'closing' : 'closing already')
      if (signals === 1) void close()
    })
  }
  const administrator = await firstAdministrator(app, config).catch(async (err: unknown) => {
    await app.close()
    throw err
  })
  // The password is shown this once and on stderr: log lines are kept, and other people read them.
  if (administrator) process.stderr.write(welcome(administrator))
  releaseMemory()
  const { HOST: host, PORT: port } = config
  const address = await app.listen({ port, host }).catch(async (err: NodeJS.ErrnoException) => {
    await app.close()
    const variable = err.code === 'ENOTFOUND' || err.code === 'EADDRNOTAVAIL' ? 'HOST' : 'PORT'
    throw new ConfigError(variable, `impossibile ascoltare su ${host}:${port} (${err.code})`)
  })
  app.log.info({ address, mode: config.ALLOGGIATI_MODE }, 'ready')
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

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(
    `Locanda vuole Node 22.18 o successivo, questo è ${process.versions.node}: usare «npm start»\n`
  )
  process.exit(1)
}

start().catch((err: unknown) => {
  const reason = err instanceof Error ? (err.name === 'ConfigError' ? err.message : err.stack) : String(err)
  process.stderr.write(`Locanda non può partire: ${reason}\n`)
  process.exit(1)
})
