import { isValidElement, type ReactElement, type ReactNode } from 'react'

/** Escapes text and attributes, for HTML and for the engine's own template syntax. */
export function escape (text: string): string {
  return text.replace(/[&<>"'{}]/g, (each) => `&#${each.charCodeAt(0)};`)
}

/** Numeric properties that have no unit. */
const BARE = new Set(['fontWeight', 'lineHeight', 'flexGrow', 'opacity', 'aspectRatio'])
const AXES: Record<string, readonly string[]> = {
  marginVertical: ['marginTop', 'marginBottom'],
  marginHorizontal: ['marginLeft', 'marginRight'],
  paddingVertical: ['paddingTop', 'paddingBottom'],
  paddingHorizontal: ['paddingLeft', 'paddingRight']
}
/** Font families with a generic fallback, because an external engine may lack the fonts of this server. */
const GENERIC: Record<string, string> = { Lora: 'Lora, serif', 'Noto Sans': '"Noto Sans", sans-serif' }

/** A React-PDF style as CSS. All values were validated, so CSS contains no free text of the template or the data. */
function css (style: Readonly<Record<string, unknown>>): string {
  const declarations = Object.entries(style).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : (AXES[name] ?? [name]).map((each) => declaration(each, value)))
  // By default React-PDF draws a solid border, but CSS draws none.
  const bordered = Object.keys(style).some((name) => /^border.*Width$/.test(name))
  const hasStyle = Object.keys(style).some((name) => /^border.*Style$/.test(name))
  return [...(bordered && !hasStyle ? ['border-width:0', 'border-style:solid'] : []), ...declarations].join(';')
}

function declaration (name: string, value: unknown): string {
  const property = hyphened(name)
  if (name === 'fontFamily') {
    const names = [value].flat().map(String)
    return `${property}:${names.map((each) => GENERIC[each] ?? `"${each}"`).join(',')}`
  }
  return `${property}:${typeof value === 'number' && !BARE.has(name) ? `${value}pt` : String(value)}`
}

function hyphened (name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** A document for an engine that prints HTML: its body, header and footer. */
export interface HtmlDocument {
  title: string
  language: string
  body: string
  /** `header` and `footer` are the content in the margins of every page. `''` for none. */
  header: string
  footer: string
}

interface Props {
  style?: Record<string, unknown>
  children?: ReactNode
  fixed?: boolean
  wrap?: boolean
  render?: (page: { pageNumber: string, totalPages: string }) => ReactNode
  src?: unknown
  [name: string]: unknown
}

type Element = ReactElement<Props>

/** Placeholders for the page number and the number of pages, which only the engine knows. */
const PAGE = '\uE000'
const PAGES = '\uE001'
const DRAWN: Record<string, string> = {
  SVG: 'svg', G: 'g', LINE: 'line', RECT: 'rect', PATH: 'path', CIRCLE: 'circle'
}
const DRAWN_ATTRIBUTES = [
  'viewBox', 'width', 'height', 'x', 'y', 'x1', 'x2', 'y1', 'y2', 'cx', 'cy', 'r', 'd', 'fill', 'stroke', 'strokeWidth',
  'textAnchor'
]

/**
 * Converts the document's React-PDF elements to HTML for an external engine. All pages get header and footer of the
 * first `<page>`. Braces are escaped, because the engine may have its own template syntax.
 */
export function toHtml (document: ReactElement): HtmlDocument {
  const { title, language, children } = document.props as Props
  const pages = elements(children)
  const strips = elements(pages[0]?.props.children).filter(isStrip)
  const stripAt = (side: string) => strips.filter(({ props }) => props.style?.justifyContent === side)
    .map((each) => stripHtml(each, pages[0]!)).join('')
  return {
    title: String(title ?? ''),
    language: String(language ?? 'it'),
    header: stripAt('flex-start'),
    footer: stripAt('flex-end'),
    body: pages.map(pageHtml).join('')
  }
}

function elements (node: ReactNode): Element[] {
  return [node].flat(Infinity).filter((each): each is Element => isValidElement(each))
}

function isStrip ({ props: { fixed, style } }: Element): boolean {
  return fixed === true && style?.position === 'absolute'
}

/** The page's style without padding, because the engine applies the margins. */
function pageStyle ({ props: { style = {} } }: Element): Record<string, unknown> {
  return Object.fromEntries(Object.entries(style).filter(([name]) => !name.startsWith('padding')))
}

function pageHtml (page: Element, at: number): string {
  const content = elements(page.props.children).filter((each) => !isStrip(each)).map((each) => html(each)).join('')
  const breakBefore = at === 0 ? {} : { breakBefore: 'page' }
  return `<div style="${attribute(css({ ...pageStyle(page), ...breakBefore }))}">${content}</div>`
}

function stripHtml ({ props: { style = {}, children } }: Element, page: Element): string {
  const { position: _, left, right, top: _top, minHeight: _min, ...rest } = style
  const frame = { ...pageStyle(page), width: '100%', paddingLeft: left, paddingRight: right, boxSizing: 'border-box' }
  return `<div style="${attribute(css({ ...frame, ...rest, display: 'block' }))}">${html(children)}</div>`
}

/** @param inText whether the node is inside a text. Then it becomes a `span` */
function html (node: ReactNode, inText = false): string {
  if (Array.isArray(node)) return node.map((each: ReactNode) => html(each, inText)).join('')
  if (typeof node === 'string' || typeof node === 'number') return textHtml(String(node))
  if (!isValidElement(node)) return ''
  const { type, props } = node as Element
  const { style = {}, children = null, render } = props
  switch (String(type)) {
    case 'VIEW': return viewHtml(props)
    case 'TEXT': {
      const content = render ? render({ pageNumber: PAGE, totalPages: PAGES }) : children
      return boxed(inText ? 'span' : 'div', { whiteSpace: 'pre-wrap', ...style }, html(content, true))
    }
    case 'LINK': {
      return `<a href="${escape(String(props.src))}" style="${attribute(css(style))}">${html(children, true)}</a>`
    }
    case 'IMAGE': return imageHtml(props)
    default: return drawnHtml(String(type), props)
  }
}

/** The classes are those that engines fill with page numbers, in headers and footers only. */
function textHtml (text: string): string {
  return escape(text).replace(/\n/g, '<br>').replaceAll('\u00AD', '&shy;')
    .replaceAll(PAGE, '<span class="pageNumber"></span>').replaceAll(PAGES, '<span class="totalPages"></span>')
}

/** A box whose first line repeats on every page becomes a table with a `thead`. */
function viewHtml ({ style = {}, children, wrap }: Props): string {
  const inner = elements(children)
  const look = { ...style, ...(wrap === false ? { breakInside: 'avoid' } : {}) }
  if (inner[0]?.props.fixed !== true) {
    return boxed('div', { display: 'flex', flexDirection: 'column', ...look }, html(children ?? null))
  }
  const [head, ...rows] = inner
  const line = (each: Element, tag: string) =>
    `<tr style="break-inside:avoid"><${tag} style="padding:0">${html(each)}</${tag}></tr>`
  return boxed('table', { width: '100%', borderCollapse: 'collapse', ...look },
    `<thead>${line(head!, 'th')}</thead><tbody>${rows.map((each) => line(each, 'td')).join('')}</tbody>`)
}

function imageHtml ({ src, style = {} }: Props): string {
  const { data, format } = src as { data: Buffer, format: 'png' | 'jpg' }
  const type = format === 'png' ? 'png' : 'jpeg'
  return `<img alt="" src="data:image/${type};base64,${data.toString('base64')}" style="${attribute(css(style))}">`
}

function drawnHtml (name: string, { style = {}, children, ...props }: Props): string {
  // Inside an SVG, text is positioned by its coordinates.
  const tag = DRAWN[name] ?? 'text'
  const attributes = DRAWN_ATTRIBUTES.filter((each) => props[each] !== undefined)
    .map((each) => ` ${each === 'viewBox' ? each : hyphened(each)}="${escape(String(props[each]))}"`)
  const content = [children].flat(Infinity).map((each) => {
    if (!isValidElement(each)) return typeof each === 'string' ? escape(each) : ''
    const { type, props } = each as Element
    return drawnHtml(String(type), props)
  })
  return `<${tag}${attributes.join('')} style="${attribute(css(style))}">${content.join('')}</${tag}>`
}

function boxed (tag: string, style: Record<string, unknown>, content: string): string {
  return `<${tag} style="${attribute(css(style))}">${content}</${tag}>`
}

function attribute (text: string): string {
  return text.replaceAll('&', '&#38;').replaceAll('"', '&#34;').replaceAll('<', '&#60;')
}
