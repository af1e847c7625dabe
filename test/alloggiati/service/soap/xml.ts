import { SaxesParser } from 'saxes'

/** An element by its meaning: prefixes are resolved, blanks between elements are left out, texts are as sent. */
export interface Node {
  name: string
  text: string
  children: Node[]
}

export function parse (xml: string): Node {
  const root: Node = { name: '', text: '', children: [] }
  const open = [root]
  const parser = new SaxesParser({ xmlns: true })
  const append = (text: string) => { open.at(-1)!.text += text }
  parser.on('error', (error) => { throw error })
  parser.on('text', append)
  parser.on('cdata', append)
  parser.on('opentag', (tag) => {
    const node: Node = { name: `{${tag.uri}}${tag.local}`, text: '', children: [] }
    open.at(-1)!.children.push(node)
    open.push(node)
  })
  parser.on('closetag', () => {
    const node = open.pop()!
    if (node.children.length > 0) node.text = node.text.trim()
  })
  parser.write(xml).close()
  return root.children[0]!
}

/** The rows of a request in the order sent. */
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
