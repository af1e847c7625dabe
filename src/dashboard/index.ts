/* What the app may use of the system area. */
export { default as system } from './plugin.ts'
export { default as settings } from '#src/settings/plugin.ts'
