import { subscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { build } from '#src/app.ts'
import { makeDataFolder } from '#src/config/data-folder.ts'
import { readConfig } from '#src/config/config.ts'

/*
 * A server that can crash. At the CRASH_TIMES-th occurrence of CRASH_STEP it kills itself, or the postmaster whose PID
 * file CRASH_POSTMASTER names.
 */
const { CRASH_STEP, CRASH_TIMES = '1', CRASH_POSTMASTER } = process.env
/** Short, because a police service that hangs would delay the test. */
const SOAP_TIMEOUT_MS = 2000
/** Shorter than the SOAP timeout, so that callers get a response before slow calls end. */
const POLICE_RESPONSE_MS = 1000

const print = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)

let left = Number(CRASH_TIMES)
subscribe('locanda:ledger', (message) => {
  const { step } = message as { step: string }
  if (step !== CRASH_STEP || --left !== 0) return
  // Node writes to pipes synchronously, so the line is written before the process is killed.
  print({ msg: CRASH_POSTMASTER === undefined ? 'dying' : 'postmaster dying' })
  process.kill(
    CRASH_POSTMASTER === undefined ? process.pid : Number.parseInt(readFileSync(CRASH_POSTMASTER, 'utf8'), 10),
    'SIGKILL'
  )
})

// Exit when the parent process has exited, so that no server remains.
const parent = process.ppid
setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL') }, 1000).unref()

// Report why the server did not start.
process.once('uncaughtException', (err) => {
  print({ msg: String(err) })
  process.exit(1)
})

const config = readConfig(process.env)
makeDataFolder(config.DATA_DIR)
const app = await build({
  config,
  logStream: { write: () => {} },
  times: { soapTimeoutMs: SOAP_TIMEOUT_MS, policeResponseMs: POLICE_RESPONSE_MS }
})
print({ msg: 'ready', address: await app.listen({ port: 0, host: '127.0.0.1' }) })
// A graceful exit lets Node store its compile cache for the next start.
process.once('SIGTERM', () => { app.close().then(() => process.exit(0), () => process.exit(1)) })
