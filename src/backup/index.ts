/* The exports of the backup area, for the command-line tool and the app. */
export type { SettledRestore } from './settle-restore.ts'
export { lastBackup } from './backup-retention.ts'
export { backUp, restore } from './commands.ts'
export { examine } from './doctor/examine.ts'
export { InterruptedError, OperationError } from './errors.ts'
export { default as backup } from './plugin.ts'
export { readBackup as verify } from './sealed-tar.ts'
