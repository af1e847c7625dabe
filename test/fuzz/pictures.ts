import { readFileSync } from 'node:fs'

/** A one-pixel image, and a document with a zone. */
export const PICTURES = [
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  readFileSync(new URL('../../fixtures/mrz/specimen.jpg', import.meta.url)).toString('base64')
] as const
