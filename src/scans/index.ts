/* Exports of scans for other areas and the app. */
export { eraseScans } from './scan-pictures.ts'
export { default as scans } from './plugin.ts'
