/* What the tool and the app may use of the work of operators. */
export { backUp, restore, verify } from './commands.ts'
export { examine } from './doctor/examine.ts'
export { BrokenOff, OperationError } from './errors.ts'
export { default as events, type EventTimes } from '#src/events/plugin.ts'
export { default as operations } from './plugin.ts'
