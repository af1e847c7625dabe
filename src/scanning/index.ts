/* What other areas and the app may use of scanning. */
export { default as guestCodes, type GuestCodes } from './guest/codes.ts'
export type { DocumentKind } from './guest/document-kind.ts'
export { default as scanning } from './plugin.ts'
