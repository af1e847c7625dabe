import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { temporaryFolder } from './helper.ts'

const PROJECT = fileURLToPath(new URL('..', import.meta.url))
const { bin, scripts } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')) as {
  bin: { locanda: string }
  scripts: Record<string, string>
}
const TOO_OLD = /^Locanda richiede Node 22\.18 o successivo; questo è Node [\d.]+\. [^\n]+\n$/

/** What a shell command ends with whose `node` is the one of this folder. */
function run (command: string, nodeFolder: string, cwd = PROJECT, env: Record<string, string> = {}) {
  const PATH = `${nodeFolder}:${process.env.PATH}`
  const { status, stdout, stderr } = spawnSync('sh', ['-c', command], { cwd, env: { PATH, ...env }, encoding: 'utf8' })
  return { status, stdout, stderr }
}

/** A `node` that reads no TypeScript, as all older ones. */
function oldNode (t: Test): string {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'node'), `#!/bin/sh\nexec "${process.execPath}" --no-strip-types "$@"\n`, { mode: 0o755 })
  return folder
}

t.test('a Node that is too old ends with one line of Italian, by every script that starts TypeScript', async (t) => {
  const node = oldNode(t)
  const entries = Object.entries(scripts).filter(([, script]) => /\bnode .*(\.ts|start\.cjs)$/.test(script))
  t.match(entries.map(([name]) => name), ['start', 'keys:rotate', 'locanda', 'tour', 'bench'])
  for (const [name, script] of entries) {
    t.match(run(script, node, PROJECT, { DATA_DIR: '/dev/null' }), { status: 1, stdout: '', stderr: TOO_OLD }, name)
  }
})

t.test('the linked tool says so too', async (t) => {
  const node = oldNode(t)
  symlinkSync(join(PROJECT, bin.locanda), join(node, 'locanda'))
  t.match(run('locanda --help', node), { status: 1, stdout: '', stderr: TOO_OLD })
})

t.test('packages that are not installed, optional ones too, end the start with one line', async (t) => {
  const project = temporaryFolder(t)
  for (const name of ['package.json', 'src', 'schemas', 'drizzle']) {
    cpSync(join(PROJECT, name), join(project, name), { recursive: true })
  }
  const start = () => run(`"${process.execPath}" src/server.ts`, project, project, { DATA_DIR: join(project, 'data') })
  const missing = { status: 1, stdout: '', stderr: /^Locanda non può partire: mancano dei pacchetti: [^\n]+\n$/ }
  t.match(start(), missing, 'none is')
  t.match(run(`"${process.execPath}" ${bin.locanda} --help`, project, project), {
    status: 1, stdout: '', stderr: /^Errore: mancano dei pacchetti: [^\n]+\n$/
  }, 'the tool says so too')

  // As `npm ci --omit=optional` leaves it.
  const [from, to] = [join(PROJECT, 'node_modules'), join(project, 'node_modules')]
  cpSync(join(from, '@node-rs', 'argon2'), join(to, '@node-rs', 'argon2'), { recursive: true })
  for (const name of readdirSync(from)) if (name !== '@node-rs') symlinkSync(join(from, name), join(to, name))
  t.match(start(), missing, 'the parts in machine language are not')
})

t.test('the tour without the official client says what is missing in one line', async (t) => {
  const project = temporaryFolder(t)
  mkdirSync(join(project, 'test'))
  for (const name of ['package.json', join('test', 'tour')]) {
    cpSync(join(PROJECT, name), join(project, name), { recursive: true })
  }
  t.match(run(`"${process.execPath}" test/tour/supabase.ts`, project, project), {
    status: 1, stdout: '', stderr: /^Sorpresa: manca il client ufficiale, [^\n]+\n$/
  })
})
