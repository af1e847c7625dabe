import t from 'tap'
import { linter, withLine } from './lint.ts'

const lint = linter(['no-restricted-globals', 'no-restricted-imports'])
const MESSAGE = /Only the entries of src read the process/
const lines = [
  'export const a = process.env.HOME',
  'export const b = globalThis.process.env.HOME',
  "import { env } from 'node:process'",
  "import process from 'process'"
]

t.test('lint refuses to read the process anywhere in src', async (t) => {
  for (const file of ['src/app.ts', 'src/loading.ts', 'src/lib/time.ts', 'src/cli/run.ts']) {
    for (const line of lines) {
      t.match(await lint(file, await withLine(file, line)), [MESSAGE], line)
    }
  }
})

t.test('the entries read the process', async (t) => {
  for (const file of ['src/server.ts', 'src/rotate-keys.ts', 'src/cli/index.ts']) {
    for (const line of lines) t.same(await lint(file, await withLine(file, line)), [], line)
  }
})
