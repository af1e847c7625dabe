/* Exports of administration for the app. */
export { default as administration } from './plugin.ts'
