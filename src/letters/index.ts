/* What the app may use of letters. */
export { default as letters } from './plugin.ts'
