/* What the rest of the house may use of administration. */
export { default as administration } from './plugin.ts'
