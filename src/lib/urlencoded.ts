import { CorpoNonUtf8 } from './errors.ts'
import { isEscapedUtf8, readUtf8 } from './utf8.ts'

/**
 * Parses a form (`application/x-www-form-urlencoded`). Undefined if a field is repeated, because parsers disagree about
 * the value.
 * @throws CorpoNonUtf8
 */
export function parseForm (bytes: Buffer): Record<string, string> | undefined {
  const text = readUtf8(bytes)
  if (!isEscapedUtf8(text)) throw new CorpoNonUtf8()
  const fields = [...new URLSearchParams(text)]
  const isPlain = new Set(fields.map(([name]) => name)).size === fields.length
  return isPlain ? Object.fromEntries(fields) : undefined
}
