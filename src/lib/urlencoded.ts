/**
 * The fields of a form as browsers send it (`application/x-www-form-urlencoded`); undefined where one comes twice, of
 * which readers may take either.
 */
export function parseForm (text: string): Record<string, string> | undefined {
  const fields = [...new URLSearchParams(text)]
  const isPlain = new Set(fields.map(([name]) => name)).size === fields.length
  return isPlain ? Object.fromEntries(fields) : undefined
}
