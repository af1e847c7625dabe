/* Exports of storage for the app. */
export { default as storage } from './plugin.ts'
export { renderStorageError } from './protocol/errors.ts'
