/* Exports of letters for the app. */
export { default as letters } from './plugin.ts'
