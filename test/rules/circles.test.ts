import { execFile } from 'node:child_process'
import { appendFile, cp } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import project from '../../package.json' with { type: 'json' }
import { ROOT } from './lint.ts'

const CIRCLE = /src\/lib\/etag\.ts -> src\/lib\/time\.ts|src\/lib\/time\.ts -> src\/lib\/etag\.ts/

/** What `npm run circular` says of a copy of the project where two files of lib import each other by these lines. */
async function circlesWith (t: Test, inEtag: string, inTime: string): Promise<string> {
  const copy = t.testdir({})
  for (const part of ['src', 'schemas', 'drizzle', 'package.json', 'tsconfig.json']) {
    await cp(join(ROOT, part), join(copy, part), { recursive: true })
  }
  await appendFile(join(copy, 'src/lib/etag.ts'), `\n${inEtag}\n`)
  await appendFile(join(copy, 'src/lib/time.ts'), `\n${inTime}\n`)
  const [command = '', ...args] = project.scripts.circular.split(' ')
  const run = promisify(execFile)(join(ROOT, 'node_modules/.bin', command), args, { cwd: copy })
  return await run.then(() => 'passed', (failure: { stdout: string }) => failure.stdout)
}

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
  t.notMatch(await circlesWith(t, "import './time.ts'", ''), CIRCLE)
})
