import { isUtf8 } from 'node:buffer'
import { CorpoNonUtf8 } from './errors.ts'

/** Bytes that Windows-1252 does not define. */
const UNDEFINED_WESTERN = /[\x81\x8d\x8f\x90\x9d]/
/** UTF-8 bytes of characters like `à` and `€`, or of a byte order mark. Windows-1252 texts rarely contain them. */
const PIECE_OF_UTF8 = /\xc3[\x80-\xbf]|\xc2[\xa0-\xbf]|\xe2[\x80-\xbf]{2}|\xef\xbb\xbf/
const ESCAPED_BYTES = /(?:%[0-9a-f]{2})+/gi

/**
 * Decodes bytes as UTF-8. Malformed bytes are an error, and are not replaced by U+FFFD (RFC 8259, section 8.1).
 * @throws CorpoNonUtf8
 */
export function readUtf8 (bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new CorpoNonUtf8()
  return bytes.toString()
}

/** Whether the percent-encoded bytes of a form are UTF-8. */
export function isEscapedUtf8 (text: string): boolean {
  return (text.match(ESCAPED_BYTES) ?? []).every((run) => isUtf8(Buffer.from(run.replaceAll('%', ''), 'hex')))
}

/** The encoding of a text in UTF-16 with ASCII letters, by its byte order mark or its first letter. */
export function utf16Of ([first, second]: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  if (first === undefined || second === undefined) return undefined
  if ((first === 0xFF && second === 0xFE) || (first !== 0 && second === 0)) return 'utf-16le'
  return (first === 0xFE && second === 0xFF) || (first === 0 && second !== 0) ? 'utf-16be' : undefined
}

/** Whether bytes are a text in UTF-8, or one in Windows-1252 without pieces of UTF-8. */
export function isUtf8OrWestern (bytes: Buffer): boolean {
  if (isUtf8(bytes)) return true
  const text = bytes.toString('latin1')
  return !UNDEFINED_WESTERN.test(text) && !PIECE_OF_UTF8.test(text)
}
