/** Characters per base64 group. */
const GROUP = 4

/**
 * Decodes strict base64 (RFC 4648, section 4: padded, no whitespace). Undefined for any other text, although Node would
 * skip unknown characters. The buffer shares no memory with others, so it can be transferred to a thread.
 */
export function decodeBase64 (text: string): Buffer<ArrayBuffer> | undefined {
  if (text.length % GROUP !== 0) return undefined
  const size = decodedSize(text)
  const bytes = Buffer.allocUnsafeSlow(size)
  // Invalid characters yield fewer bytes. But Node also decodes the base64url alphabet and some non-ASCII characters.
  const isTaken = bytes.write(text, 'base64') === size && Buffer.byteLength(text) === text.length
  if (!isTaken || text.includes('-') || text.includes('_')) return undefined
  // The unused bits of the last character must be zero.
  const lastGroup = Math.max(Math.ceil(size / 3) - 1, 0) * 3
  return text.endsWith(bytes.toString('base64', lastGroup)) ? bytes : undefined
}

/**
 * Rewrites base64 as the strict decoder takes it: in one line, in the standard alphabet, padded. Other characters stay,
 * so that they are rejected.
 */
export function strictBase64 (text: string): string {
  const digits = text.replace(/[\t\n\r ]+/g, '').replaceAll('-', '+').replaceAll('_', '/').replace(/={1,2}$/, '')
  return digits + '='.repeat((GROUP - digits.length % GROUP) % GROUP)
}

/** Number of bytes that a base64 text decodes to. */
function decodedSize (text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  return text.length / GROUP * 3 - padding
}
