/** Characters of a name; file systems take 255 bytes. */
const NAME_LIMIT = 200

/**
 * The header `Content-Disposition` (RFC 6266): the name twice, in ASCII for those who read nothing else, and as it is.
 * A name cannot add a header or end the quotation. It has no `/` and no `\`: some programs would save it in another
 * folder.
 */
export function contentDisposition (kind: 'inline' | 'attachment', name: string): string {
  const short = name.toWellFormed().slice(0, NAME_LIMIT).toWellFormed().replace(/[/\\]/g, '_')
  const ascii = short.replace(/[^\x20-\x7e]|["%]/g, '_')
  const plain = `${kind}; filename="${ascii}"`
  return ascii === short ? plain : `${plain}; filename*=UTF-8''${encodeExtended(short)}`
}

/** RFC 8187: what `encodeURIComponent` leaves as it is, but for these four. */
function encodeExtended (text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`)
}
