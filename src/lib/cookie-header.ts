/**
 * The value of a cookie that occurs once in a `Cookie` header. Undefined for duplicates: another site may have set one.
 */
export function onlyValue (header: string, name: string): string | undefined {
  const values = header
    .split(';')
    .map((pair) => /^([^=]*)=(.*)$/s.exec(pair))
    .filter((pair) => pair?.[1]?.trim() === name)
  return values.length === 1 ? values[0]?.[2]?.trim() : undefined
}
