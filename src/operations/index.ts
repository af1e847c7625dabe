/* What the tool and the app may use of the work of operators. */
export { backUp, restore, verify } from './backup/commands.ts'
export { OperationError } from './errors.ts'
