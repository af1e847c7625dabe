import { writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { temporaryFolder } from '#test/helper.ts'
import { finder, findInLines, ROOT } from './lint.ts'

const FILE = 'src/lib/time.ts'
// Of one file: the types of the whole project take three times as long.
const project = join(temporaryFolder(t), 'tsconfig.json')
writeFileSync(project, JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), include: [join(ROOT, FILE)] }))
const find = finder([
  '@typescript-eslint/no-floating-promises',
  '@typescript-eslint/no-misused-promises',
  '@typescript-eslint/switch-exhaustiveness-check'
], { project })

/** Lines that are refused with these messages, or without one pass. */
async function judged (t: Test, cases: Readonly<Record<string, RegExp | undefined>>): Promise<void> {
  const lines = Object.keys(cases)
  const { ofLines } = await findInLines(find, FILE, await readFile(join(ROOT, FILE), 'utf8'), lines)
  for (const [at, line] of lines.entries()) {
    if (cases[line]) t.match(ofLines[at], [cases[line]], line)
    else t.same(ofLines[at], [], line)
  }
}

t.test('lint refuses a promise that nothing waits for', async (t) => {
  await judged(t, {
    // The first one: behind another line it would go on with that.
    '[1].forEach(async () => {})': /Promise returned in function argument/,
    'Promise.resolve(1)': /Promises must be awaited/,
    'void Promise.resolve(1)': undefined
  })
})

t.test('lint refuses a switch that leaves out a case, one with a default too', async (t) => {
  const name = (name: string, cases: string) =>
    `export function ${name} (x: 'a' | 'b') { switch (x) { case 'a': return 1; ${cases} } }`
  await judged(t, {
    [name('one', '')]: /Switch is not exhaustive/,
    [name('two', 'default: return 2')]: /Switch is not exhaustive/,
    [name('all', "case 'b': return 2")]: undefined
  })
})
