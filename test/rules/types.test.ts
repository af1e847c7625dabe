import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { temporaryFolder } from '#test/helper.ts'
import { linter, ROOT, withLine } from './lint.ts'

const FILE = 'src/lib/time.ts'
// Of one file: the types of the whole project take three times as long.
const project = join(temporaryFolder(t), 'tsconfig.json')
writeFileSync(project, JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), include: [join(ROOT, FILE)] }))
const lint = linter([
  '@typescript-eslint/no-floating-promises',
  '@typescript-eslint/no-misused-promises',
  '@typescript-eslint/switch-exhaustiveness-check'
], { project })

t.test('lint refuses a promise that nothing waits for', async (t) => {
  t.match(await lint(FILE, await withLine(FILE, 'Promise.resolve(1)')), [/Promises must be awaited/])
  const drops = '[1].forEach(async () => {})'
  t.match(await lint(FILE, await withLine(FILE, drops)), [/Promise returned in function argument/])
  t.same(await lint(FILE, await withLine(FILE, 'void Promise.resolve(1)')), [], 'unless it says so')
})

t.test('lint refuses a switch that leaves out a case, one with a default too', async (t) => {
  const name = (cases: string) => `export function name (x: 'a' | 'b') { switch (x) { case 'a': return 1; ${cases} } }`
  t.match(await lint(FILE, await withLine(FILE, name(''))), [/Switch is not exhaustive/])
  t.match(await lint(FILE, await withLine(FILE, name('default: return 2'))), [/Switch is not exhaustive/])
  t.same(await lint(FILE, await withLine(FILE, name("case 'b': return 2"))), [])
})
