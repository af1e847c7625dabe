import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { isWaiting } from './queue.ts'
import { STATE_FILE, type State } from './state.ts'

/*
 * All test files, in a few processes, each of which takes the next file when it has run one. To start Node and import
 * the server takes a second of processor time, more than most files need for themselves, and the code of a process that
 * has run a file is warm for the next: 17 files of bookings take 58 s of processor time one by one, and 22 s together
 * (Node 24.21).
 */
const PROCESSES = 6

/** These begin first: what is short fills the end, so that all processes have something to do. */
const LONGEST = new Set([
  'test/crash/crash.test.ts',
  'test/documents/retention.test.ts',
  'test/identity/attacks/fuzz.test.ts',
  'test/identity/guards/matrix-changing.test.ts',
  'test/identity/guards/matrix-reading.test.ts',
  'test/operations/restore.test.ts',
  'test/plugins/database/embedded/cluster.test.ts',
  'test/plugins/database/embedded/places.test.ts',
  'test/scanning/mrz/reader/accuracy.test.ts',
  'test/server-start.test.ts',
  'test/server.test.ts',
  'test/system/email-servers.test.ts'
])

/**
 * Without tap's own parts, which mock modules and note what a test has loaded, in its processes and in those that they
 * start: a second of processor time for each process, and a fifth of a file's that starts servers.
 */
const args = [
  '-u', 'NODE_OPTIONS', process.execPath,
  '--import=./test/setup/preload.ts',
  '--import=./test/setup/without-domains.ts',
  fileURLToPath(new URL('group.ts', import.meta.url))
]
const files = globSync('test/**/*.test.ts').sort()
const queue = mkdtempSync(join(tmpdir(), 'locanda-queue-'))
// Backwards: the many short files of the first folders come last.
const order = [...files.filter((file) => LONGEST.has(file)), ...files.filter((file) => !LONGEST.has(file)).reverse()]
for (const [place, file] of order.entries()) writeFileSync(join(queue, String(place).padStart(4, '0')), file)

const { temporary } = JSON.parse(readFileSync(STATE_FILE, 'utf8')) as State
const env = { ...process.env, TEST_QUEUE: queue, ...temporary === undefined ? {} : { TMPDIR: temporary } }
t.jobs = PROCESSES
let begun = 0
await Promise.all(Array.from({ length: PROCESSES }, runFiles))
const left = readdirSync(queue).map((name) => readFileSync(join(queue, name), 'utf8'))
t.same(left, [], 'every file was run, to its end')
rmSync(queue, { recursive: true })

/** One process after the other, until one has found nothing to do: each ends when it has grown large. */
async function runFiles (): Promise<void> {
  for (let before = Infinity, now = waiting(); now > 0 && now < before; before = now, now = waiting()) {
    await t.spawn('env', args, { env, buffered: true }, `process ${++begun}`)
  }
}

function waiting (): number {
  return readdirSync(queue).filter(isWaiting).length
}
