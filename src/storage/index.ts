/* What the app may use of the storage area. */
export { default as storage } from './plugin.ts'
export { renderStorageError } from './protocol/errors.ts'
