/* Exports of reports for the app. */
export { default as reports } from './plugin.ts'
