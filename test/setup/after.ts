import { readState, removeRun } from './state.ts'

await removeRun(readState())
