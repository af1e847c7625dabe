/* What the app may use of reports. */
export { default as reports } from './plugin.ts'
