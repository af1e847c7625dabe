import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { freePort } from '#test/free-port.ts'
import { NEVER_OVERLOADED, temporaryFolder } from '#test/helper.ts'

/* Runs the code blocks of the walk against real servers, and looks for the printed parts in their responses. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const WALK = readFileSync(`${ROOT}/src/alloggiati/walk.md`, 'utf8')
const BLOCKS = [...WALK.matchAll(/^```(sh|json)\n([^]*?)^```$/gm)].map(([, type, block]) => ({ type, block: block! }))
const END = '@@ end of the block'

/** Starts a process at noon, because the day of the police service changes at midnight. */
const NOON = `
  const Real = Date, moved = (12 - new Real().getUTCHours()) * 3_600_000
  globalThis.Date = class extends Real {
    constructor (...given) { given.length === 0 ? super(Real.now() + moved) : super(...given) }
    static now () { return Real.now() + moved }
  }`

const joined = (lines: string) => lines.replaceAll(/\n\s*/g, '')

const skip = spawnSync('curl', ['--version']).status !== 0 && 'needs curl'

t.test('the walk prints the responses of the server', { skip }, async (t) => {
  const shell = spawn('bash', {
    cwd: ROOT,
    detached: true,
    env: {
      ...process.env,
      ...NEVER_OVERLOADED,
      PORT: String(await freePort()),
      OTHER_PORT: String(await freePort()),
      TMPDIR: temporaryFolder(t),
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(NOON)}`
    },
    stdio: ['pipe', 'pipe', 'inherit']
  })
  t.teardown(() => {
    try {
      process.kill(-shell.pid!, 'SIGKILL')
    } catch {}
  })
  const commands = BLOCKS.filter(({ type }) => type === 'sh')
  shell.stdin.end(commands.map(({ block }) => `${block}\necho '${END}'\n`).join(''))
  const outputs = (await text(shell.stdout)).split(END)
  t.equal(outputs.length, commands.length + 1, 'every block ends')
  let output = ''
  for (const { type, block } of BLOCKS) {
    if (type === 'sh') {
      output = joined(outputs.shift() ?? '')
      continue
    }
    let at = 0
    for (const part of joined(block).split('…')) {
      const found = output.indexOf(part, at)
      t.ok(found >= 0, part, { output: output.slice(at) })
      if (found >= 0) at = found + part.length
    }
  }
})
