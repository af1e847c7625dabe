/** Of a text of so many characters; the caller looks at them first. */
const GROUP = 4

/**
 * The bytes of a text in base64 (RFC 4648, section 4: padded, without blanks); undefined for any other text, of which
 * Node would leave out what it does not know. The buffer is whole: it can be handed over to a thread.
 */
export function decodeBase64 (text: string): Buffer<ArrayBuffer> | undefined {
  if (text.length % GROUP !== 0) return undefined
  const size = decodedSize(text)
  const bytes = Buffer.allocUnsafeSlow(size)
  // Each character that is none of base64 makes fewer bytes; but Node takes the other alphabet, too, and of characters
  // beyond ASCII a part.
  const isTaken = bytes.write(text, 'base64') === size && Buffer.byteLength(text) === text.length
  if (!isTaken || text.includes('-') || text.includes('_')) return undefined
  // The bits behind the last byte are zero.
  const lastGroup = Math.max(Math.ceil(size / 3) - 1, 0) * 3
  return text.endsWith(bytes.toString('base64', lastGroup)) ? bytes : undefined
}

/** How many bytes a text in base64 makes. */
export function decodedSize (text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  return text.length / GROUP * 3 - padding
}
