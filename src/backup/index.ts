/* What the tool and the app may use of backup, restore and doctor. */
export { backUp, restore, verify } from './commands.ts'
export { examine } from './doctor/examine.ts'
export { BrokenOff, OperationError } from './errors.ts'
export { default as backup } from './plugin.ts'
