/* Exports of scanning for other areas and the app. */
export { default as guestCodes, type GuestCodes } from './guest/guest-codes-plugin.ts'
export type { DocumentKind } from './guest/document-kind.ts'
export { guestOf } from './guest/guest.ts'
export { expired, minor } from './guest/holder-notices.ts'
export { readGuest, type ReadGuest } from './guest/read-guest.ts'
export { default as documentReading } from './ocr/document-reading.ts'
export { default as scanning } from './plugin.ts'
