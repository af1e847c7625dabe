import { Image, Text, View } from '@react-pdf/renderer'
import { createElement, type ReactNode } from 'react'
import { type Checked, type CheckedNode, isText } from '../markup/check-markup.ts'
import type { ElementName } from '../markup/elements.ts'
import type { Style } from '../markup/style-attribute.ts'
import { chart } from './charts.ts'
import type { Build } from './build.ts'
import { htmlTable, list } from './html-table.ts'
import { isInline, paragraph } from './inline.ts'
import { qr } from './qr.ts'
import { flowingTable } from './flowing-table.ts'

/** An image passed with the data. If it is missing, nothing is printed, and the result has a warning. */
function image ({ values, style }: Checked<'image'>, build: Build): ReactNode {
  build.count('images')
  const asset = build.assets.get(values.asset!)
  if (!asset) {
    build.warn('IMMAGINE_MANCANTE', `immagine «${values.asset}» non trovata`)
    return null
  }
  return createElement(Image, {
    // Always bytes, because the renderer would fetch a URL, or read a path.
    src: { data: Buffer.from(asset.data), format: asset.format },
    cache: false,
    style: {
      objectFit: 'contain',
      width: values.width ?? 120,
      ...(values.height ? { height: values.height } : {}),
      ...style
    }
  })
}

const HEADINGS: Record<'h1' | 'h2' | 'h3', Style> = {
  h1: { marginBottom: 8 },
  h2: { marginTop: 10, marginBottom: 6 },
  h3: { marginTop: 8, marginBottom: 4 }
}
/** Points that must be free below a heading: enough for a table head and one row. */
const AHEAD = 64
const PARAGRAPH: Style = { marginBottom: 6 }
const BADGE: Style = {
  alignSelf: 'flex-start', borderRadius: 4, paddingVertical: 5, paddingHorizontal: 10, color: '#ffffff'
}

const PAGE_WORDS = { it: 'Pagina {n} di {t}', en: 'Page {n} of {t}', de: 'Seite {n} von {t}', fr: 'Page {n} sur {t}' }

/** Builds the content of a page or of an element. Inline nodes between blocks become paragraphs. */
export function blocks (nodes: CheckedNode[], build: Build): ReactNode[] {
  const result: ReactNode[] = []
  let running: CheckedNode[] = []
  const endParagraph = () => {
    const made = paragraph(running, {}, build)
    if (made !== null) result.push(made)
    running = []
  }
  for (const [at, node] of nodes.entries()) {
    if (isInline(node)) {
      running.push(node)
      continue
    }
    endParagraph()
    const next = nodes.slice(at + 1).find((each) => !isBlank(each))
    if (isText(node) || isOfTable(node, next, build)) continue
    const before = nodes.slice(0, at).findLast((each) => !isBlank(each))
    const heading = before && isHeading(before) && isOfTable(before, node, build) ? block(before, build) : undefined
    result.push(node.name === 'table' ? anyTable(node, build, heading) : block(node, build))
  }
  endParagraph()
  return result
}

/** A table with the rows of the data, or with rows from the template. */
function anyTable (node: Checked<'table'>, build: Build, heading?: ReactNode): ReactNode {
  return node.values.data === undefined ? htmlTable(node, build, blocks, heading) : flowingTable(node, build, heading)
}

const isBlank = (node: CheckedNode): boolean => isText(node) && node.text.trim() === ''

/**
 * True for a heading that is built in one box with the table below it. Otherwise the renderer could leave the heading
 * alone at the end of a page. For an external engine the head must be first in the box, so that the head repeats.
 */
function isOfTable (node: CheckedNode, next: CheckedNode | undefined, { flows }: Build): boolean {
  return !flows && next?.name === 'table' && isHeading(node)
}

export function isHeading (node: CheckedNode): node is Checked<'h1' | 'h2' | 'h3'> {
  return Object.hasOwn(HEADINGS, node.name)
}

type Builder<N extends ElementName> = (node: Checked<N>, build: Build) => ReactNode

const heading = (level: keyof typeof HEADINGS): Builder<typeof level> => ({ children, style }, build) => {
  const look: Style = { fontWeight: 600, color: build.accent, fontFamily: build.fonts.stack(build.headingFace) }
  const content = paragraph(children, { ...look, ...HEADINGS[level], ...style }, build)
  return createElement(View, { wrap: false, minPresenceAhead: AHEAD }, content)
}

const BUILDERS: { [N in ElementName]?: Builder<N> } = {
  h1: heading('h1'),
  h2: heading('h2'),
  h3: heading('h3'),
  p: ({ children, style, values }, build) => paragraph(children, { ...PARAGRAPH, ...style }, build, values.lines),
  div: ({ children, style, values }, build) =>
    createElement(View, { style, wrap: values.keep !== 'together' }, ...blocks(children, build)),
  row: ({ children, style }, build) =>
    createElement(View, { style: { flexDirection: 'row', ...style }, wrap: false }, ...blocks(children, build)),
  badge: ({ children, style }, build) => createElement(
    View,
    { style: { ...BADGE, backgroundColor: build.accent, ...style }, wrap: false },
    paragraph(children, {}, build)
  ),
  hr: ({ values, style }, build) => {
    const line: Style = { borderBottomWidth: values.width ?? 0.75, borderBottomColor: values.color ?? build.accent }
    return createElement(View, { style: { marginVertical: 8, ...line, ...style } })
  },
  image,
  qr,
  table: (node, build) => anyTable(node, build),
  ul: (node, build) => list(node, build, blocks),
  ol: (node, build) => list(node, build, blocks),
  'bar-chart': chart,
  'line-chart': chart,
  // This Text must not be inside another Text, because `render` prints nothing there.
  'page-number': ({ values, style }, build) => {
    const pattern = build.fonts.fit(values.format ?? PAGE_WORDS[build.language])
    return createElement(Text, {
      style,
      render: ({ pageNumber, totalPages }) =>
        pattern.replaceAll('{n}', String(pageNumber)).replaceAll('{t}', String(totalPages ?? ''))
    })
  }
}

function block (node: Checked, build: Build): ReactNode {
  const builder = BUILDERS[node.name] as Builder<ElementName> | undefined
  return builder?.(node, build) ?? null
}
