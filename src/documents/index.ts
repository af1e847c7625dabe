/* What the app may use of documents. */
export { default as documents } from './plugin.ts'
