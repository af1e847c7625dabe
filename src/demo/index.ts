import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Environment } from '#schemas/config.ts'
import { loadingError } from '#src/lib/missing-packages.ts'
import { speedUpLoading } from '../loading.ts'

/** The folder of the demo's data. An installation has another folder. */
const FOLDER = './data-demo'
/** The only settings read from the environment, because others could select an installation's database or files. */
const KEPT = ['PORT', 'HOST', 'PUBLIC_URL', 'TODAY', 'LOG_LEVEL', 'OVERLOAD_AFTER_MS', 'DISK_RESERVE_MIB']
const EMAIL = 'demo@locanda.local'
/** Contains the administrator's password. The file is written last, so it marks complete data. */
const COMPLETE = 'demo.json'
/** Settings of the app that fills the house. */
const FILLING = { RATE_LIMIT_MAX: '100000', LOG_LEVEL: 'error' }
const SIGNALS = ['SIGINT', 'SIGTERM'] as const

const interrupted = new AbortController()
const interrupt = () => interrupted.abort()

/**
 * `npm run demo` starts a server in sandbox mode with an invented house. Its data are relative to the day, so the first
 * start of a day recreates them.
 */
async function demo (): Promise<void> {
  speedUpLoading()
  for (const signal of SIGNALS) process.on(signal, interrupt)
  const [{ makeDataFolder, readConfig }, { createClock }] = await Promise.all([
    import('#src/config/config.ts'), import('#src/lib/time.ts')
  ])
  const folder = resolve(FOLDER)
  const dataDir = join(folder, createClock(process.env.TODAY || undefined).today())
  const complete = join(dataDir, COMPLETE)
  const isComplete = existsSync(complete)
  if (!isComplete) removeDays(folder)
  makeDataFolder(dataDir)
  const { password } = isComplete
    ? JSON.parse(readFileSync(complete, 'utf8')) as { password: string }
    : { password: randomBytes(9).toString('base64url') }
  setEnvironment({ DATA_DIR: dataDir, ADMIN_EMAIL: EMAIL, ADMIN_PASSWORD: password, ALLOGGIATI_MODE: 'sandbox' })
  const { PUBLIC_URL } = readConfig(process.env)
  if (!isComplete) {
    process.stderr.write('Preparazione di una casa inventata, una volta al giorno…\n')
    const { fillHouse } = await import('./fill-house.ts')
    await fillHouse(readConfig({ ...process.env, ...FILLING }), interrupted.signal)
    writeFileSync(complete, JSON.stringify({ password }), { mode: 0o600 })
  }
  for (const signal of SIGNALS) process.removeListener(signal, interrupt)
  process.stderr.write(`\nLocanda dimostrativa: ${PUBLIC_URL}/\nE-mail: ${EMAIL}\nPassword: ${password}\n\n`)
  await import('../server.ts')
}

/** Deletes the data of other days, and the data of an interrupted start. */
function removeDays (folder: string): void {
  const days = existsSync(folder) ? readdirSync(folder).filter((name) => /^\d{4}-\d\d-\d\d$/.test(name)) : []
  for (const day of days) rmSync(join(folder, day), { recursive: true })
}

function setEnvironment (settings: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(Environment.properties)) {
    if (!KEPT.includes(name)) delete process.env[name]
  }
  process.env.LOG_LEVEL ||= 'warn'
  Object.assign(process.env, settings)
}

demo().catch(async (err: unknown) => {
  if (interrupted.signal.aborted) process.exit(130)
  const reason = loadingError(err) ?? (await import('../start-error.ts')).startError(err)
  process.stderr.write(`La dimostrazione non può partire: ${reason}\n`, () => process.exit(1))
})
