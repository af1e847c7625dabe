import { subscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { build } from '#src/app.ts'
import { readConfig } from '#src/config/config.ts'

/*
 * The server, with a way to die. CRASH_STEP and CRASH_TIMES: at that step of a submission, when it is reached for that
 * time, this very process ends as if it had been killed; or, with CRASH_POSTMASTER, the postmaster whose file that is.
 */
const { CRASH_STEP, CRASH_TIMES = '1', CRASH_POSTMASTER } = process.env
/** Shorter than a minute: a police that hangs must not stop the test. */
const SOAP_TIMEOUT_MS = 2000

const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)

let left = Number(CRASH_TIMES)
subscribe('locanda:ledger', (message) => {
  const { step } = message as { step: string }
  if (step !== CRASH_STEP || --left !== 0) return
  // A pipe is written to at once: it is said before it is done.
  say({ msg: CRASH_POSTMASTER === undefined ? 'dying' : 'postmaster dying' })
  process.kill(
    CRASH_POSTMASTER === undefined ? process.pid : Number.parseInt(readFileSync(CRASH_POSTMASTER, 'utf8'), 10),
    'SIGKILL'
  )
})

// Whoever started it may die, too: nothing stays behind.
const parent = process.ppid
setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL') }, 1000).unref()

const app = await build({
  config: readConfig(process.env),
  logStream: { write: () => {} },
  soapTimeoutMs: SOAP_TIMEOUT_MS
})
say({ msg: 'ready', address: await app.listen({ port: 0, host: '127.0.0.1' }) })
// A quiet end, so that what was compiled is kept for the next start.
process.once('SIGTERM', () => { app.close().then(() => process.exit(0), () => process.exit(1)) })
