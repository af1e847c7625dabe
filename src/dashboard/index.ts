/* What the app may use of the dashboard. */
export { default as dashboard } from './plugin.ts'
