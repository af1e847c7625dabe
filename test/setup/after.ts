import { readFileSync, rmSync } from 'node:fs'
import { startEmbedded } from '#src/plugins/database/embedded/cluster.ts'
import { STATE_FILE, type State } from './state.ts'

const { dataDir } = JSON.parse(readFileSync(STATE_FILE, 'utf8')) as State
const cluster = await startEmbedded({ dataDir, log: () => {} })
await cluster.stop()
rmSync(dataDir, { recursive: true, force: true })
rmSync(STATE_FILE)
