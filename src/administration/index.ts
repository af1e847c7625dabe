/* What other areas and the app may use of administration. */
export { default as administration } from './plugin.ts'
