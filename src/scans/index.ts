/* Exports of scans for the app. */
export { default as scans } from './plugin.ts'
