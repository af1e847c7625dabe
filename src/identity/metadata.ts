import type { Metadata } from '#drizzle/tables/index.ts'
import { AuthError } from './errors.ts'

/** They travel in every access token, and a request's headers have 16 KiB. */
const LONGEST = 8192

/**
 * What people write about themselves, if it can be kept: as JSON at most 8 KiB, without NUL and halves of surrogate pairs, which
 * PostgreSQL does not hold.
 * @throws AuthError validation_failed
 */
export function storableMetadata (metadata: Metadata): Metadata {
  if (!isStorable(metadata)) throw new AuthError('validation_failed', { message: 'User metadata are too large, or not valid text' })
  return metadata
}

function isStorable (metadata: Metadata): boolean {
  let holds = true
  try {
    const json = JSON.stringify(metadata, (key, value: unknown) => {
      for (const text of [key, value]) holds &&= typeof text !== 'string' || (text.isWellFormed() && !text.includes('\0'))
      return value
    })
    return holds && Buffer.byteLength(json) <= LONGEST
  } catch {
    // Nested more deeply than the stack goes.
    return false
  }
}
