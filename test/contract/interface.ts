/** What the text of the interface has, as far as rows go. */
export interface InterfaceRows {
  endpoints: [method: string, path: string, access: string][]
  cases: [method: string, path: string, status: number][]
  statuses: number[]
  /** How many rows each table and each numbered list has: by heading, `table` or `list`, and which one there. */
  sizes: Record<string, number>
}

/** Reads the interface: its tables and numbered lists, by their headings. */
export function interfaceRows (text: string): InterfaceRows {
  const found: InterfaceRows = { endpoints: [], cases: [], statuses: [], sizes: {} }
  const seen: Record<string, number> = {}
  let heading = ''
  let inTable = false

  const count = (part: 'table' | 'list', isFirst: boolean) => {
    const which = `${heading} ${part}`
    if (isFirst) seen[which] = (seen[which] ?? 0) + 1
    const name = `${which} ${seen[which]}`
    found.sizes[name] = (found.sizes[name] ?? 0) + (part === 'table' && isFirst ? 0 : 1)
  }

  for (const line of text.split('\n')) {
    heading = /^#{2,3} (.*)/.exec(line)?.[1] ?? heading
    const number = /^(\d+)\. /.exec(line)?.[1]
    if (number !== undefined) count('list', number === '1')
    const cells = /^\|(.*)\|$/.exec(line)?.[1]?.split(' | ').map((cell) => cell.trim())
    if (cells !== undefined && !/^-+$/.test(cells[0]!.split('|')[0]!)) {
      count('table', !inTable)
      readRow(cells)
    }
    inTable = cells !== undefined
  }
  return found

  function readRow ([first = '', second = '', third = '']: string[]): void {
    const path = /^`(.*)`$/.exec(second)?.[1]
    if (/^[A-Z]+$/.test(first) && path !== undefined) found.endpoints.push([first, path, third])
    const [, method, at] = /^([A-Z]+) `(.*)`$/.exec(first) ?? []
    if (method !== undefined && at !== undefined) found.cases.push([method, at, Number(second)])
    if (/^\d{3}$/.test(first)) found.statuses.push(Number(first))
  }
}
