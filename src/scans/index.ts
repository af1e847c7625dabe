/* What the app may use of scans. */
export { default as scans } from './plugin.ts'
