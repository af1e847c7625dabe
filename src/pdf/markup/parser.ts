import { SaxesParser } from 'saxes'
import { TemplateError, type Place } from '../errors.ts'
import { checkLimit } from '../pdf-limits.ts'

export interface TextNode { name: '#text', text: string, place: Place }
export interface ElementNode {
  name: string
  attributes: Record<string, string>
  children: MarkupNode[]
  place: Place
}
export type MarkupNode = TextNode | ElementNode

/** Named entities for authors, besides XML's own five. */
const ENTITIES = Object.fromEntries(Array.from((
  'nbsp \u00A0 euro € ndash – mdash — middot · bull • hellip … shy \u00AD rsquo ’ lsquo ‘ rdquo ” ldquo “ laquo ' +
  '« raquo » deg ° copy © reg ® times × pound £ agrave à egrave è eacute é igrave ì ograve ò ugrave ù Agrave À ' +
  'Egrave È Eacute É Igrave Ì Ograve Ò Ugrave Ù auml ä ouml ö uuml ü Auml Ä Ouml Ö Uuml Ü szlig ß ccedil ç ' +
  'acirc â ecirc ê icirc î ocirc ô ucirc û ntilde ñ'
).matchAll(/(\w+) (\S|\u00A0)/g), ([, name, character]) => [name!, character!]))

/**
 * Parses well-formed markup into a tree. Document types, processing instructions and a second root are refused, so no
 * entities can be defined (XXE).
 * @param placeOf the template position that produced a character of the text
 * @throws TemplateError
 */
export function parseMarkup (text: string, placeOf: (offset: number) => Place): ElementNode {
  const parser = new SaxesParser({ xmlns: false, position: true })
  Object.assign(parser.ENTITIES, ENTITIES)
  const open: ElementNode[] = []
  let root: ElementNode | undefined
  let elements = 0
  let textStart = 0

  const here = () => placeOf(Math.max(0, parser.position - 1))
  const refuse = (what: string) => () => {
    throw new TemplateError('XML_NON_BEN_FORMATO', `${what} non è ammesso`, here())
  }
  parser.on('doctype', refuse('un tipo di documento'))
  parser.on('processinginstruction', refuse('un’istruzione di elaborazione'))
  parser.on('error', (err) => {
    throw new TemplateError('XML_NON_BEN_FORMATO', problemOf(err.message), here())
  })
  parser.on('opentag', ({ name, attributes }) => {
    const start = text.lastIndexOf('<', parser.position - 1)
    const element: ElementNode = { name, attributes: { ...attributes }, children: [], place: placeOf(start) }
    checkLimit('elements', ++elements, element.place)
    checkLimit('depth', open.length, element.place)
    if (open.length > 0) open.at(-1)!.children.push(element)
    root ??= element
    open.push(element)
    textStart = parser.position
  })
  parser.on('closetag', () => {
    open.pop()
    textStart = parser.position
  })
  const addText = (content: string) => {
    if (open.length === 0 || content === '') return
    const place = placeOf(textStart)
    checkLimit('text', content.length, place)
    open.at(-1)!.children.push({ name: '#text', text: content, place })
  }
  parser.on('text', addText)
  parser.on('cdata', addText)
  parser.write(text).close()
  return root!
}

/** Italian texts for the parser's messages. The parser's position is dropped: it refers to the expanded text. */
const MESSAGES: [pattern: RegExp, text: string][] = [
  [/unexpected close tag|unmatched closing tag/, 'chiusura senza apertura'],
  [/unclosed tag: (\S+)/, 'l’elemento <$1> non è chiuso'],
  [/duplicate attribute: (\S+?)\.?$/, 'attributo «$1» ripetuto'],
  [/entity/, 'carattere con «&» sconosciuto: per una «e commerciale» si scrive &amp;'],
  [/disallowed character in attribute name|attribute without value|unquoted attribute value/, 'attributo scritto male'],
  [/document must contain a root/, 'manca l’elemento <document>'],
  [/text data outside of root|documents may contain only one root/, 'c’è qualcosa fuori dall’elemento <document>'],
  [/unexpected end/, 'il modello finisce troppo presto']
]

function problemOf (message: string): string {
  const bare = message.replace(/^\d+:\d+: /, '')
  for (const [pattern, text] of MESSAGES) {
    const match = pattern.exec(bare)
    if (match) return text.replace('$1', match[1] ?? '')
  }
  return 'elemento scritto male'
}
