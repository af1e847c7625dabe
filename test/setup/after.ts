import { readFileSync, statSync } from 'node:fs'
import process from 'node:process'
import { removeRun } from './left-run.ts'
import { slowestFiles } from './slowest.ts'
import { STATE_FILE, type State } from './state.ts'

for (const line of slowestFiles(statSync(STATE_FILE).mtimeMs)) process.stdout.write(`${line}\n`)
await removeRun(JSON.parse(readFileSync(STATE_FILE, 'utf8')) as State)
