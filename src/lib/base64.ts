/** Of a text of so many characters; the caller looks at them first. */
const GROUP = 4

/**
 * The bytes of a text in base64 (RFC 4648, section 4: padded, without blanks); undefined for any other text, of which
 * Node would leave out what it does not know. The buffer is whole: it can be handed over to a thread.
 */
export function decodeBase64 (text: string): Buffer<ArrayBuffer> | undefined {
  if (text.length % GROUP !== 0) return undefined
  const bytes = Buffer.alloc(decodedSize(text))
  bytes.write(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

/** How many bytes a text in base64 makes. */
export function decodedSize (text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  return text.length / GROUP * 3 - padding
}
