import { readFileSync, rmSync, statSync } from 'node:fs'
import process from 'node:process'
import { startEmbedded } from '#src/plugins/database/embedded/cluster.ts'
import { slowestFiles } from './slowest.ts'
import { STATE_FILE, type State } from './state.ts'

const { dataDir, temporary } = JSON.parse(readFileSync(STATE_FILE, 'utf8')) as State
for (const line of slowestFiles(statSync(STATE_FILE).mtimeMs)) process.stdout.write(`${line}\n`)
const cluster = await startEmbedded({ dataDir, log: () => {} })
await cluster.stop()
for (const folder of [dataDir, temporary]) rmSync(folder, { recursive: true, force: true })
rmSync(STATE_FILE)
