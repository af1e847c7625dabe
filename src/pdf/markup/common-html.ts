import type { Place } from '../errors.ts'
import { parseMarkup, type ElementNode, type MarkupNode } from './parser.ts'

/* Common HTML in templates: fragments, whole pages, and elements that have another name here. */

type PlaceOf = (offset: number) => Place

/** Encloses a template that has no `<document>`: A4 with the usual margins. */
const OPENING = '<document><page>'
const CLOSING = '</page></document>'
const DOCTYPE = /^\s*<!doctype html\s*>/i
/** Elements without content, which HTML authors do not close. */
const OPEN_VOID = /<(?:br|hr|meta|link|img)\b(?:[^<>"']|"[^"]*"|'[^']*')*(?<!\/)(?=>)/gi

/** Elements of HTML, with their names in the template language. */
const RENAMED: Record<string, string> = {
  strong: 'b', em: 'i', section: 'div', article: 'div', main: 'div', blockquote: 'div', h4: 'h3', h5: 'h3', h6: 'h3'
}
/** Elements of HTML that become a style. */
const STYLED: Record<string, string> = {
  u: 'text-decoration: underline',
  ins: 'text-decoration: underline',
  s: 'text-decoration: line-through',
  del: 'text-decoration: line-through',
  small: 'font-size: 8.5'
}
const BOLD_OR_ITALIC: Record<string, string> = { b: 'font-weight: bold', i: 'font-style: italic' }
/** Elements that are replaced by their content. */
const TRANSPARENT = new Set(['html', 'body', 'thead', 'tbody', 'tfoot'])
/** HTML attributes that are accepted without effect. */
const WITHOUT_EFFECT = new Set(['class', 'id', 'lang', 'border', 'cellpadding', 'cellspacing', 'valign'])

/** The HTML elements that are accepted besides the template language, for suggestions. */
export const HTML_NAMES = [...Object.keys(RENAMED), ...Object.keys(STYLED), ...TRANSPARENT]

/**
 * Parses the markup of a template. A fragment without `<document>` is wrapped in a page.
 * @throws TemplateError
 */
export function readMarkup (text: string, placeOf: PlaceOf): ElementNode {
  const inserted: number[] = []
  const blanked = text.replace(DOCTYPE, (found) => ' '.repeat(found.length))
  const closed = blanked.replace(OPEN_VOID, (found, offset: number) => {
    inserted.push(offset + found.length + inserted.length)
    return `${found}/`
  })
  const isWhole = /<document[\s>]/.test(text)
  const lead = isWhole ? 0 : OPENING.length
  const root = parseMarkup(isWhole ? closed : `${OPENING}${closed}${CLOSING}`, (offset) => {
    const at = offset - lead
    return placeOf(Math.min(text.length, Math.max(0, at - inserted.filter((each) => each < at).length)))
  })
  const title = isWhole ? undefined : titleIn(root)
  return { ...asOurs(root), attributes: title === undefined ? root.attributes : { ...root.attributes, title } }
}

/** The text of an HTML page's `<title>`. */
function titleIn (root: ElementNode): string | undefined {
  const find = (node: MarkupNode, name: string) => 'children' in node
    ? node.children.find((child): child is ElementNode => child.name === name)
    : undefined
  const path = ['page', 'html', 'head', 'title']
  const title = path.reduce<ElementNode | undefined>((node, name) => node && find(node, name), root)
  const [text] = title?.children ?? []
  return text && 'text' in text ? text.text.trim() : undefined
}

/** Converts an element that may be HTML to the template language. */
function asOurs (node: ElementNode): ElementNode {
  const attributes = Object.fromEntries(Object.entries(node.attributes).filter(([name]) => !WITHOUT_EFFECT.has(name)))
  const children = node.children.flatMap((child): MarkupNode[] => {
    if (!('children' in child)) return [child]
    if (child.name === 'head') return []
    return TRANSPARENT.has(child.name) ? asOurs(child).children : [asOurs(child)]
  })
  const name = Object.hasOwn(RENAMED, node.name) ? RENAMED[node.name]! : node.name
  const look = Object.hasOwn(STYLED, name) ? STYLED[name] : attributes.style && BOLD_OR_ITALIC[name]
  if (!look) return { ...node, name, attributes, children }
  return { ...node, name: 'span', attributes: { ...attributes, style: `${look}; ${attributes.style ?? ''}` }, children }
}
