/* What other areas and the app may use of documents. */
export { default as documents } from './plugin.ts'
export { imageStanding, type ImageStanding } from './image-retention.ts'
