import { registerHooks } from 'node:module'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'

/*
 * Runs the test files of `TEST_FILES`, one after the other in this process. What a file imports as `tap` is a test of
 * its own that ends with it: its applications are closed and its databases dropped before the next file begins.
 */
const LIMIT_MS = 1_200_000
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

const files = process.env.TEST_FILES?.split(' ') ?? []
// A process that ends early fails.
t.plan(files.length)
for (const file of files) {
  // As in `.taprc`, of each file anew.
  t.setTimeout(LIMIT_MS)
  await t.test(file, async (test) => {
    current = test
    await import(pathToFileURL(file).href)
  })
}
