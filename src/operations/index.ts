/* What the tool and the app may use of the work of operators. */
export { backUp, restore, verify } from './backup/commands.ts'
export { examine } from './doctor/examine.ts'
export { BrokenOff, OperationError } from './errors.ts'
export { default as events, type EventTimes } from './events/plugin.ts'
export { default as operations } from './plugin.ts'
