/**
 * Parses a form (`application/x-www-form-urlencoded`). Undefined if a field is repeated, because parsers disagree about
 * which value counts.
 */
export function parseForm (text: string): Record<string, string> | undefined {
  const fields = [...new URLSearchParams(text)]
  const isPlain = new Set(fields.map(([name]) => name)).size === fields.length
  return isPlain ? Object.fromEntries(fields) : undefined
}
