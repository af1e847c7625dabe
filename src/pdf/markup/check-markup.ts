import { TemplateError, type Place } from '../errors.ts'
import { HTML_NAMES } from './common-html.ts'
import { nearestTo } from '#src/lib/nearest-word.ts'
import { ELEMENTS, type ElementName, type Rule, type Values } from './elements.ts'
import type { ElementNode, MarkupNode, TextNode } from './parser.ts'
import { readStyle, type Style } from './style-attribute.ts'
import { color } from './values.ts'

const KNOWN = [...Object.keys(ELEMENTS), ...HTML_NAMES]
/** Default font size in points. */
const FONT_SIZE = 10.5
/** Default line height, as a factor of the font size. */
export const LINE_HEIGHT = 1.4
/** Default accent colour, a dark green. */
const ACCENT = '#1f4e46'
/** Font size of headings relative to the document's, and their line height. */
const HEADINGS: Record<string, { scale: number, lineHeight: number }> = {
  h1: { scale: 2, lineHeight: 1.2 },
  h2: { scale: 1.4, lineHeight: 1.25 },
  h3: { scale: 1.15, lineHeight: 1.3 }
}

/** An element with parsed attributes, valid at its position. */
interface CheckedElement<N extends ElementName> {
  name: N
  values: Values<N>
  style: Style
  children: CheckedNode[]
  place: Place
}
export type Checked<N extends ElementName = ElementName> = N extends ElementName ? CheckedElement<N> : never
export type CheckedNode = Checked | TextNode

/** Values inherited from the parent element. */
interface Inherited { accent: string, documentSize: number, fontSize: number, lineHeight: number }

/**
 * Validates a tree against `ELEMENTS`.
 * @throws TemplateError for the first violation
 */
export function checkMarkup (root: ElementNode): { document: Checked<'document'>, accent: string, fontSize: number } {
  if (root.name !== 'document') {
    throw new TemplateError('ELEMENTO_FUORI_POSTO', 'il modello deve cominciare con <document>', root.place)
  }
  const accent = color(root.attributes.accent ?? '') ?? ACCENT
  const fontSize = ELEMENTS.document.attributes['font-size'](root.attributes['font-size'] ?? '') ?? FONT_SIZE
  const inherited = { accent, documentSize: fontSize, fontSize, lineHeight: LINE_HEIGHT }
  return { document: checkElement(root, inherited) as Checked<'document'>, accent, fontSize }
}

function checkElement (node: ElementNode, inherited: Inherited): Checked {
  const rule = ruleOf(node)
  const values: Record<string, unknown> = {}
  let given: Style = {}
  for (const [name, text] of Object.entries(node.attributes)) {
    if (name === 'style' && rule.styled) given = readStyle(text, inherited.accent, node.place)
    else values[name] = readAttribute(node, rule, name, text)
  }
  const absent = rule.required?.find((name) => values[name] === undefined)
  if (absent !== undefined) {
    throw new TemplateError('ATTRIBUTO_MANCANTE', `a <${node.name}> manca l’attributo «${absent}»`, node.place)
  }
  const { style, ...within } = resolveFont(node.name, given, inherited)
  const children = node.children.filter((child) => isAllowed(node, rule, child)).map((child) =>
    isText(child) ? child : checkElement(child, within))
  return { name: node.name, values, style, children, place: node.place } as Checked
}

/**
 * Sets font size and line height together. The renderer computes the line height in points from the font size of the
 * same style, and children inherit that number of points.
 */
function resolveFont (name: string, given: Style, inherited: Inherited): Inherited & { style: Style } {
  const heading = HEADINGS[name]
  const usual = heading === undefined
    ? inherited
    : { fontSize: inherited.documentSize * heading.scale, lineHeight: heading.lineHeight }
  const fontSize = given.fontSize as number | undefined ?? usual.fontSize
  const lineHeight = given.lineHeight as number | undefined ?? usual.lineHeight
  const isNew = heading !== undefined || given.fontSize !== undefined || given.lineHeight !== undefined
  return { ...inherited, fontSize, lineHeight, style: isNew ? { ...given, fontSize, lineHeight } : given }
}

/** Checks that a child is allowed at its position. Drops whitespace where text is not allowed. */
function isAllowed (parent: ElementNode, rule: Rule, child: MarkupNode): boolean {
  if (isText(child)) {
    if (rule.text) return true
    if (child.text.trim() === '') return false
    throw new TemplateError('ELEMENTO_FUORI_POSTO', `dentro <${parent.name}> il testo non è ammesso`, child.place)
  }
  ruleOf(child)
  if (rule.allows.includes(child.name)) return true
  throw new TemplateError('ELEMENTO_FUORI_POSTO', `<${child.name}> non è ammesso dentro <${parent.name}>`, child.place)
}

function ruleOf (node: ElementNode): Rule {
  if (Object.hasOwn(ELEMENTS, node.name)) return ELEMENTS[node.name as ElementName]
  const name = node.name.slice(0, 40)
  const message = `elemento <${name}> sconosciuto: il più simile è <${nearestTo(name, KNOWN)}>`
  throw new TemplateError('ELEMENTO_SCONOSCIUTO', message, node.place)
}

function readAttribute (node: ElementNode, rule: Rule, name: string, text: string): unknown {
  if (!Object.hasOwn(rule.attributes, name)) {
    const message = `<${node.name}> non ha un attributo «${name.slice(0, 40)}»`
    throw new TemplateError('ATTRIBUTO_SCONOSCIUTO', message, node.place)
  }
  const value = rule.attributes[name]!(text)
  if (value !== undefined) return value
  const code = name === 'href' ? 'COLLEGAMENTO_NON_AMMESSO' : 'VALORE_NON_VALIDO'
  const message = `valore «${text.slice(0, 60)}» non ammesso per l’attributo «${name}» di <${node.name}>`
  throw new TemplateError(code, message, node.place)
}

export function isText (node: MarkupNode | CheckedNode): node is TextNode {
  return node.name === '#text'
}
