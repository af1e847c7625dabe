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
 * No file begins from 23:54 to 00:03 in Rome: a file reads the day once, and from 23:58 to 00:02 the ledger sends
 * nothing to the police.
 */
async function midnightOver (): Promise<void> {
  const now = new Date()
  const today = dayInRome(now)
  const day = now >= instantInRome(today, 23, 54) ? addDays(today, 1) : today
  const over = instantInRome(day, 0, 3)
  if (now < over) await sleep(over.getTime() - now.getTime())
}

// What nobody catches is a failure of the file that runs.
for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, (err) => current.threw(err))

const files = process.env.TEST_FILES?.split(' ') ?? []
// A process that ends early fails.
t.plan(files.length)
for (const file of files) {
  // As in `.taprc`, of each file anew.
  t.setTimeout(LIMIT_MS)
  await midnightOver()
  const ended = watchFile(file, () => current)
  await t.test(file, async (test) => {
    current = test
    await import(pathToFileURL(file).href)
  })
  ended()
}
