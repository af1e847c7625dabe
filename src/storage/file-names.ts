/** What S3 takes as it is, but for `?`, which ends the path of an address; no backslash, percent sign or control. */
const KEY = /^[A-Za-z0-9_/!.*'() &$=@;:+,-]+$/
const KEY_BYTES = 1024
const SEGMENT_BYTES = 255
/** Shorter than what Supabase allows: these are part of addresses. */
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/

/** Whether a text, decoded, can be the name of a stored file. It is a key of the database and never part of a path. */
export function isFileName (text: string): boolean {
  return text.length <= KEY_BYTES && KEY.test(text) && text.split('/').every(isSegment)
}

export function isBucketName (text: string): boolean {
  return BUCKET.test(text)
}

/**
 * What stands in the place of a bucket in addresses of the protocol: a bucket of that name could not be reached. The
 * bucket `public` is (`Files.open`).
 */
const RESERVED = new Set(['authenticated', 'copy', 'info', 'list', 'list-v2', 'move', 'sign', 'upload'])

/** Whether a bucket can be made with this name. */
export function isFreeBucketName (text: string): boolean {
  return isBucketName(text) && !RESERVED.has(text)
}

function isSegment (segment: string): boolean {
  return segment !== '' && segment !== '.' && segment !== '..' && segment.length <= SEGMENT_BYTES
}

/** Whether names of files can begin so; with anything else none does, and PostgreSQL need not be asked. */
export function couldBegin (text: string): boolean {
  return text === '' || KEY.test(text)
}
