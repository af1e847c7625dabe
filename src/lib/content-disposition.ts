/** Maximum characters. File systems allow 255 bytes. */
const NAME_LIMIT = 200

/**
 * The header `Content-Disposition` (RFC 6266) with the name in ASCII, for older clients, and in UTF-8. A name cannot
 * end the quoted string or inject a header. `/` and `\` are replaced, because some programs would save to another
 * folder.
 */
export function contentDisposition (kind: 'inline' | 'attachment', name: string): string {
  const short = name.toWellFormed().slice(0, NAME_LIMIT).toWellFormed().replace(/[/\\]/g, '_')
  const ascii = short.replace(/[^\x20-\x7e]|["%]/g, '_')
  const plain = `${kind}; filename="${ascii}"`
  return ascii === short ? plain : `${plain}; filename*=UTF-8''${encodeExtended(short)}`
}

/** RFC 8187 requires escapes for four characters that `encodeURIComponent` leaves. */
function encodeExtended (text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`)
}
