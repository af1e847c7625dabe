import { SaxesParser } from 'saxes'

/* SOAP as tests read and write it, without the project's own code. */

export const VERSIONS = {
  1.1: { mediaType: 'text/xml', namespace: 'http://schemas.xmlsoap.org/soap/envelope/' },
  1.2: { mediaType: 'application/soap+xml', namespace: 'http://www.w3.org/2003/05/soap-envelope' }
} as const
export type Version = keyof typeof VERSIONS

/** An envelope with the given content of the Body. `a` is the prefix of the service's namespace. */
export function envelope (body: string, version: Version = 1.2, header = ''): string {
  return `<?xml version="1.0" encoding="utf-8"?><s:Envelope xmlns:s="${VERSIONS[version].namespace}" ` +
    `xmlns:a="AlloggiatiService">${header}<s:Body>${body}</s:Body></s:Envelope>`
}

export function escapeXml (text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

/** A parsed element. Prefixes are resolved, blanks between elements are dropped, and texts are unchanged. */
export interface Node {
  name: string
  text: string
  children: Node[]
}

export function parse (xml: string): Node {
  const root: Node = { name: '', text: '', children: [] }
  const path = [root]
  const parser = new SaxesParser({ xmlns: true })
  const append = (text: string) => { path.at(-1)!.text += text }
  parser.on('error', (error) => { throw error })
  parser.on('text', append)
  parser.on('cdata', append)
  parser.on('opentag', (tag) => {
    const node: Node = { name: `{${tag.uri}}${tag.local}`, text: '', children: [] }
    path.at(-1)!.children.push(node)
    path.push(node)
  })
  parser.on('closetag', () => {
    const node = path.pop()!
    if (node.children.length > 0) node.text = node.text.trim()
  })
  parser.write(xml).close()
  return root.children[0]!
}

/** The rows of a request, in the order in which they were sent. */
export function rowsOf (xml: string): string[] {
  const list = find(parse(xml), '{AlloggiatiService}ElencoSchedine')
  return list?.children.map(({ text }) => text) ?? []
}

export function find (node: Node, name: string): Node | undefined {
  if (node.name === name) return node
  for (const child of node.children) {
    const found = find(child, name)
    if (found) return found
  }
  return undefined
}
