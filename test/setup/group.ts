import { registerHooks } from 'node:module'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { addDays, dayInRome, instantInRome } from '#src/lib/time.ts'
import { watchFile } from './long-file.ts'

/*
 * Runs the test files of `TEST_FILES`, one after the other in this process. What a file imports as `tap` is a test of
 * its own that ends with it: its applications are closed and its databases dropped before the next file begins.
 */
const LIMIT_MS = 600_000
const SCHEME = 'test-of:'

let current: Test = t
Object.assign(globalThis, { testOfThisFile: () => current })

registerHooks({
  resolve (specifier, context, resolve) {
    const { parentURL = '' } = context
    if (specifier !== 'tap' || !parentURL.endsWith('.test.ts')) return resolve(specifier, context)
    return { url: SCHEME + parentURL, format: 'module', shortCircuit: true }
  },
  load (url, context, load) {
    if (!url.startsWith(SCHEME)) return load(url, context)
    return { format: 'module', source: 'export default globalThis.testOfThisFile()', shortCircuit: true }
  }
})

/**
 * No file begins shortly before midnight in Rome, nor until 00:03: a file reads the day once, and from 23:58 to 00:02
 * the ledger sends nothing to the police. What it sends from 23:50 on may count on either day, and waits for the
 * receipts of both: none of the police area's begins ten minutes before that.
 */
async function midnightOver (file: string): Promise<void> {
  const now = new Date()
  const today = dayInRome(now)
  const [hour, minute] = file.startsWith('test/alloggiati/') ? [23, 40] : [23, 54]
  const day = now >= instantInRome(today, hour, minute) ? addDays(today, 1) : today
  const over = instantInRome(day, 0, 3)
  if (now < over) await sleep(over.getTime() - now.getTime())
}

// What nobody catches is a failure of the file that runs.
for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, (err) => current.threw(err))

const files = process.env.TEST_FILES?.split(' ') ?? []
// A process that ends early fails.
t.plan(files.length)
for (const file of files) {
  // The wait is longer than a file may take.
  t.setTimeout(0)
  await midnightOver(file)
  // As in `.taprc`, of each file anew.
  t.setTimeout(LIMIT_MS)
  const ended = watchFile(file, () => current)
  await t.test(file, async (test) => {
    current = test
    await import(pathToFileURL(file).href)
  })
  ended()
}
