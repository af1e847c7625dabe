import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import project from '../../package.json' with { type: 'json' }
import { ROOT } from './lint.ts'

const CIRCLES = {
  import: ["import './import-b.ts'", "import '#src/lib/import-a.ts'"],
  'type import': ["import './type-import-b.ts'", "import type { X } from './type-import-a.ts'"],
  'import at run time': ["import './import-at-run-time-b.ts'", "await import('./import-at-run-time-a.ts')"]
} as const
type Kind = keyof typeof CIRCLES

const named = (kind: string) => kind.replaceAll(' ', '-')

/** What `npm run circular` says of a small project with our settings, with two files for each pair of imports. */
async function circlesWith (t: Test, pairs: Readonly<Record<string, readonly [string, string]>>): Promise<string> {
  const files = Object.entries(pairs).flatMap(([kind, [inOne, inOther]]) => [
    [`${named(kind)}-a.ts`, `export interface X { x: string }\n${inOne}\n`],
    [`${named(kind)}-b.ts`, `export const x = 1\n${inOther}\n`]
  ])
  const copy = t.testdir({
    src: {
      lib: Object.fromEntries(files),
      'server.ts': files.map(([name]) => `import '#src/lib/${name}'\n`).join(''),
      'rotate-keys.ts': '',
      cli: { 'index.ts': '' }
    }
  })
  for (const settings of ['package.json', 'tsconfig.json']) await cp(join(ROOT, settings), join(copy, settings))
  const [command = '', ...args] = project.scripts.circular.split(' ')
  const run = promisify(execFile)(join(ROOT, 'node_modules/.bin', command), args, { cwd: copy })
  return await run.then(() => 'passed', (failure: { stdout: string }) => failure.stdout)
}

/** The check takes most of a second: one finds all circles. */
const found = circlesWith(t, CIRCLES)

function circleOf (kind: Kind): RegExp {
  const [one, other] = ['a', 'b'].map((letter) => `src/lib/${named(kind)}-${letter}\\.ts`)
  return new RegExp(`${one} -> ${other}|${other} -> ${one}`)
}

t.test('the check begins at files that are there', async (t) => {
  const entries = project.scripts.circular.split(' ').filter((word) => word.startsWith('src/'))
  t.ok(entries.length > 0)
  for (const entry of entries) t.ok(existsSync(join(ROOT, entry)), entry)
})

t.test('the check finds a circle of imports', async (t) => {
  t.match(await found, circleOf('import'))
})

t.test('the check finds a circle that a type import closes', async (t) => {
  t.match(await found, circleOf('type import'))
})

t.test('the check finds a circle that an import at run time closes', async (t) => {
  t.match(await found, circleOf('import at run time'))
})

t.test('the check finds no circle where only one file imports the other', async (t) => {
  t.equal(await circlesWith(t, { import: ["import './import-b.ts'", ''] }), 'passed')
})
