/* What the tool and the app may use of backup, restore and doctor. */
export { backUp, restore } from './commands.ts'
export { examine } from './doctor/examine.ts'
export { BrokenOff, OperationError } from './errors.ts'
export { default as backup } from './plugin.ts'
export { readBackup as verify } from './sealed-tar.ts'
