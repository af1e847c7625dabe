import type { Metadata } from '#drizzle/tables/identity.ts'
import { validationFailed } from '../errors.ts'

/** Maximum bytes. The access token contains the metadata as base64, and must fit into 16 KiB of request headers. */
const MAX_BYTES = { user: 8192, app: 1024 }

/**
 * Validates metadata. Their JSON may have 8 KiB (`user_metadata`) or 1 KiB (`app_metadata`). Rejects NUL and lone
 * surrogates, because PostgreSQL cannot store them.
 * @throws AuthError validation_failed
 */
export function storableMetadata (metadata: Metadata, kind: keyof typeof MAX_BYTES = 'user'): Metadata {
  if (!isStorable(metadata, MAX_BYTES[kind])) {
    throw validationFailed(`Metadata (${kind}) are too large, or not valid text`)
  }
  return metadata
}

export function isStorable (metadata: Metadata, maxBytes = MAX_BYTES.user): boolean {
  let isValidText = true
  try {
    const json = JSON.stringify(metadata, (key, value: unknown) => {
      for (const text of [key, value]) {
        isValidText &&= typeof text !== 'string' || (text.isWellFormed() && !text.includes('\0'))
      }
      return value
    })
    return isValidText && Buffer.byteLength(json) <= maxBytes
  } catch {
    // The nesting is too deep for the stack.
    return false
  }
}

/** A null in the patch removes the field. */
export function mergeMetadata (base: Metadata, patch: Metadata): Metadata {
  return Object.fromEntries(Object.entries({ ...base, ...patch }).filter(([, value]) => value !== null))
}
