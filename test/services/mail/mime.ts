/** A message as a mail client shows it. */
export interface Parsed {
  /** Headers by lower-case name, unfolded and decoded. Repeated headers have several values. */
  headers: Record<string, string[]>
  text: string
  html: string
}

/** Parses the subset of RFC 5322 and MIME that the mails use. It does not use the library that writes them. */
export function parseMail (raw: string): Parsed {
  const { headers, body } = split(raw)
  const type = headers['content-type']?.[0] ?? 'text/plain'
  const boundary = /boundary="?([^";]+)"?/.exec(type)?.[1]
  if (boundary === undefined) {
    const content = decode(body, headers['content-transfer-encoding']?.[0])
    return {
      headers,
      text: type.startsWith('text/plain') ? content : '',
      html: type.startsWith('text/html') ? content : ''
    }
  }
  const parts = body
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => parseMail(part.replace(/^\r\n/, '').replace(/\r\n$/, '')))
  return { headers, text: parts.map(({ text }) => text).join(''), html: parts.map(({ html }) => html).join('') }
}

function split (raw: string): { headers: Parsed['headers'], body: string } {
  const end = raw.indexOf('\r\n\r\n')
  const headers: Parsed['headers'] = {}
  for (const line of raw.slice(0, end).replace(/\r\n(?=[ \t])/g, '').split('\r\n')) {
    const [, name = '', value = ''] = /^([^:]+):\s*(.*)$/s.exec(line) ?? []
    const values = headers[name.toLowerCase()] ??= []
    values.push(decodeWords(value))
  }
  return { headers, body: raw.slice(end + 4) }
}

/** Decodes encoded words (RFC 2047). White space between two of them is dropped. */
function decodeWords (value: string): string {
  const bytes = value
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?([bq])\?([^?]*)\?=/gi, (_, kind: string, word: string) => {
      return kind.toLowerCase() === 'b'
        ? Buffer.from(word, 'base64').toString('latin1')
        : quotedPrintable(word.replaceAll('_', ' '))
    })
  // A character may be split between two words, so bytes are joined before decoding.
  return Buffer.from(bytes, 'latin1').toString()
}

function decode (body: string, encoding = '7bit'): string {
  switch (encoding.toLowerCase()) {
    case 'base64': return Buffer.from(body, 'base64').toString()
    case 'quoted-printable': return Buffer.from(quotedPrintable(body.replace(/=\r\n/g, '')), 'latin1').toString()
    default: return Buffer.from(body, 'latin1').toString()
  }
}

function quotedPrintable (text: string): string {
  return text.replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
}
