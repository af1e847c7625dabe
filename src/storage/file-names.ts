/** The characters that Supabase Storage accepts, except `?`, which ends the path of a URL. */
const KEY = /^[A-Za-z0-9_/!.*'() &$=@;:+,-]+$/
const KEY_BYTES = 1024
const SEGMENT_BYTES = 255
/** Supabase allows further characters. These need no encoding in a URL. */
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/

/** Whether a decoded text is a valid name of a stored file. Names are database keys, never part of a path on disk. */
export function isFileName (text: string): boolean {
  return text.length <= KEY_BYTES && KEY.test(text) && text.split('/').every(isSegment)
}

export function isBucketName (text: string): boolean {
  return BUCKET.test(text)
}

/**
 * Words that the protocol's URLs contain in place of a bucket name. A bucket with such a name would be unreachable. The
 * bucket `public` is reachable (`NamedFiles.open`).
 */
const RESERVED = new Set(['authenticated', 'copy', 'info', 'list', 'list-v2', 'move', 'sign', 'upload'])

/** Whether a bucket may be created with this name. */
export function isFreeBucketName (text: string): boolean {
  return isBucketName(text) && !RESERVED.has(text)
}

function isSegment (segment: string): boolean {
  return segment !== '' && segment !== '.' && segment !== '..' && segment.length <= SEGMENT_BYTES
}

/** Whether a file name can begin with this text. If not, no query is needed. */
export function couldBegin (text: string): boolean {
  return text === '' || KEY.test(text)
}
