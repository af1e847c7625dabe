import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import project from '../../package.json' with { type: 'json' }
import { ROOT } from './lint.ts'

const CIRCLE = /src\/lib\/etag\.ts -> src\/lib\/time\.ts|src\/lib\/time\.ts -> src\/lib\/etag\.ts/

/** What `npm run circular` says of a small project with our settings, where two files import each other so. */
async function circlesWith (t: Test, inEtag: string, inTime: string): Promise<string> {
  const copy = t.testdir({
    src: {
      lib: {
        'etag.ts': `export interface X { etag: string }\n${inEtag}\n`,
        'time.ts': `export const time = 1\n${inTime}\n`
      },
      'server.ts': "import '#src/lib/etag.ts'\nimport '#src/lib/time.ts'\n",
      'rotate-keys.ts': '',
      cli: { 'index.ts': '' }
    }
  })
  for (const settings of ['package.json', 'tsconfig.json']) await cp(join(ROOT, settings), join(copy, settings))
  const [command = '', ...args] = project.scripts.circular.split(' ')
  const run = promisify(execFile)(join(ROOT, 'node_modules/.bin', command), args, { cwd: copy })
  return await run.then(() => 'passed', (failure: { stdout: string }) => failure.stdout)
}

t.test('the check begins at files that are there', async (t) => {
  const entries = project.scripts.circular.split(' ').filter((word) => word.startsWith('src/'))
  t.ok(entries.length > 0)
  for (const entry of entries) t.ok(existsSync(join(ROOT, entry)), entry)
})

t.test('the check finds a circle of imports', async (t) => {
  t.match(await circlesWith(t, "import './time.ts'", "import '#src/lib/etag.ts'"), CIRCLE)
})

t.test('the check finds a circle that a type import closes', async (t) => {
  t.match(await circlesWith(t, "import './time.ts'", "import type { X } from './etag.ts'"), CIRCLE)
})

t.test('the check finds a circle that an import at run time closes', async (t) => {
  t.match(await circlesWith(t, "import './time.ts'", "await import('./etag.ts')"), CIRCLE)
})

t.test('the check finds no circle where only one file imports the other', async (t) => {
  t.equal(await circlesWith(t, "import './time.ts'", ''), 'passed')
})
