import type { Metadata } from '#drizzle/tables/identity.ts'
import { AuthError } from '../errors.ts'

/** They travel in every access token, a third longer in base64, and a request's headers have 16 KiB. */
const LONGEST = { user: 8192, app: 1024 }

/**
 * Metadata, if they can be kept: as JSON at most 8 KiB of what people write about themselves and 1 KiB of what
 * administrators do, without NUL and halves of surrogate pairs, which PostgreSQL does not hold.
 * @throws AuthError validation_failed
 */
export function storableMetadata (metadata: Metadata, whose: keyof typeof LONGEST = 'user'): Metadata {
  if (!isStorable(metadata, LONGEST[whose])) {
    throw new AuthError('validation_failed', { message: `Metadata (${whose}) are too large, or not valid text` })
  }
  return metadata
}

export function isStorable (metadata: Metadata, longest = LONGEST.user): boolean {
  let holds = true
  try {
    const json = JSON.stringify(metadata, (key, value: unknown) => {
      for (const text of [key, value]) {
        holds &&= typeof text !== 'string' || (text.isWellFormed() && !text.includes('\0'))
      }
      return value
    })
    return holds && Buffer.byteLength(json) <= longest
  } catch {
    // Nested more deeply than the stack goes.
    return false
  }
}
