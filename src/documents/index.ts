/* Exports of documents for other areas and the app. */
export { default as documents } from './plugin.ts'
export { DOCUMENTS } from './image-names.ts'
export { imageStatus, type ImageStatus } from './image-retention.ts'
export { keepImage, prepareImage } from './upload.ts'
