import { globSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { LONG, LONGEST } from './long.ts'
import { STATE_FILE, type State } from './state.ts'

/*
 * The test files, in groups of one process each. To start Node and import the server takes a second of processor time,
 * more than most files need for themselves, and the code of a process that has run a file is warm for the next: 17
 * files of bookings take 58 s of processor time one by one, and 22 s together (Node 24.21).
 */
const PROCESSES = 6
/** Groups get smaller towards the end, so that all processes have something to do as long as there is something. */
const FILES = { most: 32, fewest: 6 }

/**
 * Without tap's own parts, which mock modules and note what a test has loaded, in its processes and in those that they
 * start: a second of processor time for each group, and a fifth of a file's that starts servers.
 */
const args = [
  '-u', 'NODE_OPTIONS', process.execPath,
  '--import=./test/setup/preload.ts',
  '--import=./test/setup/without-domains.ts',
  fileURLToPath(new URL('group.ts', import.meta.url))
]
const all = globSync('test/**/*.test.ts').sort()
const missing = [...LONG].filter((file) => !all.includes(file))
if (missing.length > 0) throw new Error(`test/setup/long.ts names files that are not there: ${missing.join(' ')}`)
const files = process.env.TESTS === 'all' ? all : all.filter((file) => !LONG.has(file))
const groups = files.filter((file) => LONGEST.has(file)).map((file) => [file])
// Backwards: the many short files of the first folders fill the end.
for (const others = files.filter((file) => !LONGEST.has(file)).reverse(); others.length > 0;) {
  const size = Math.ceil(others.length / PROCESSES / 1.5)
  groups.push(others.splice(0, Math.max(FILES.fewest, Math.min(FILES.most, size))))
}

const { temporary } = JSON.parse(readFileSync(STATE_FILE, 'utf8')) as State
t.jobs = PROCESSES
t.plan(groups.length)
for (const files of groups) {
  const env = { ...process.env, TEST_FILES: files.join(' '), ...temporary === undefined ? {} : { TMPDIR: temporary } }
  void t.spawn('env', args, { env, buffered: true }, `from ${files[0]} on`)
}
