import { readFileSync, statSync } from 'node:fs'
import process from 'node:process'
import { LONG } from './long.ts'
import { removeRun } from './left-run.ts'
import { slowestFiles } from './slowest.ts'
import { STATE_FILE, type State } from './state.ts'

const slowest = slowestFiles(statSync(STATE_FILE).mtimeMs)
if (slowest.length > 0 && process.env.TESTS !== 'all') {
  slowest.push(`# ${LONG.size} long files were left out: "make test TESTS=all" runs them, too`)
}
for (const line of slowest) process.stdout.write(`${line}\n`)
await removeRun(JSON.parse(readFileSync(STATE_FILE, 'utf8')) as State)
