/* Exports of documents for other areas and the app. */
export { default as documents } from './plugin.ts'
export { imageStanding, type ImageStanding } from './image-retention.ts'
