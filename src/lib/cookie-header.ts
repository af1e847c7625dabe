/**
 * The value of a cookie that comes once in a header `Cookie`. Of two with one name it is not known which one this
 * server has set.
 */
export function onlyValue (header: string, name: string): string | undefined {
  const values = header
    .split(';')
    .map((pair) => /^([^=]*)=(.*)$/s.exec(pair))
    .filter((pair) => pair?.[1]?.trim() === name)
  return values.length === 1 ? values[0]?.[2]?.trim() : undefined
}
