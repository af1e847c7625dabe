/* Exports of the dashboard for the app. */
export { default as dashboard } from './plugin.ts'
