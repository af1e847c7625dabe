import { globSync } from 'node:fs'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

/*
 * All test files, in groups of one process each. To start Node and import the server takes a second of processor time,
 * more than most files need for themselves, and the code of a process that has run a file is warm for the next: 17
 * files of bookings take 58 s of processor time one by one, and 22 s together (Node 24.21).
 */
const FILES = 8
const PROCESSES = 6

/** Each by itself, and first: nobody waits for them at the end. */
const LONGEST = [
  'test/server-start.test.ts',
  'test/crash/crash.test.ts',
  'test/scanning/mrz/reader/accuracy.test.ts',
  'test/identity/guards/matrix-reading.test.ts',
  'test/documents/retention.test.ts',
  'test/server.test.ts',
  'test/plugins/database/embedded/cluster.test.ts',
  'test/operations/restore.test.ts',
  'test/identity/guards/matrix-changing.test.ts',
  'test/plugins/database/embedded/places.test.ts',
  'test/identity/attacks/fuzz.test.ts',
  'test/system/email-servers.test.ts'
]

const group = fileURLToPath(new URL('group.ts', import.meta.url))
const others = globSync('test/**/*.test.ts').filter((file) => !LONGEST.includes(file)).sort()
const groups = LONGEST.map((file) => [file])
while (others.length > 0) groups.push(others.splice(0, FILES))

t.jobs = PROCESSES
t.plan(groups.length)
for (const files of groups) {
  const env = { ...process.env, TEST_FILES: files.join(' ') }
  void t.spawn(process.execPath, [...process.execArgv, group], { env, buffered: true }, `from ${files[0]} on`)
}
