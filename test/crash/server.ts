import { subscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { build } from '#src/app.ts'
import { makeDataFolder } from '#src/config/data-folder.ts'
import { readConfig } from '#src/config/config.ts'

/*
 * The server, with a way to die. When submissions have reached the step CRASH_STEP for CRASH_TIMES times, this process
 * kills itself; or, with CRASH_POSTMASTER, it kills the postmaster that has noted its number in that file.
 */
const { CRASH_STEP, CRASH_TIMES = '1', CRASH_POSTMASTER } = process.env
/** Short, because a police that hangs must not hold up the test. */
const SOAP_TIMEOUT_MS = 2000
/** Long before the call to the police is over. */
const POLICE_ANSWER_MS = 1000

const print = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)

let left = Number(CRASH_TIMES)
subscribe('locanda:ledger', (message) => {
  const { step } = message as { step: string }
  if (step !== CRASH_STEP || --left !== 0) return
  // Node writes to a pipe at once, so the line leaves before the process dies.
  print({ msg: CRASH_POSTMASTER === undefined ? 'dying' : 'postmaster dying' })
  process.kill(
    CRASH_POSTMASTER === undefined ? process.pid : Number.parseInt(readFileSync(CRASH_POSTMASTER, 'utf8'), 10),
    'SIGKILL'
  )
})

// The process that started this one may die, too: then no server may stay behind.
const parent = process.ppid
setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL') }, 1000).unref()

// A driver that fails to start a server says why.
process.once('uncaughtException', (err) => {
  print({ msg: String(err) })
  process.exit(1)
})

const config = readConfig(process.env)
makeDataFolder(config.DATA_DIR)
const app = await build({
  config,
  logStream: { write: () => {} },
  times: { soapTimeoutMs: SOAP_TIMEOUT_MS, policeAnswerMs: POLICE_ANSWER_MS }
})
print({ msg: 'ready', address: await app.listen({ port: 0, host: '127.0.0.1' }) })
// It ends in order, so that Node keeps the compiled code for the next start.
process.once('SIGTERM', () => { app.close().then(() => process.exit(0), () => process.exit(1)) })
