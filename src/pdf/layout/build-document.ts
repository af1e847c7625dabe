import { createElement, type ReactElement, type ReactNode } from 'react'
import { Document, Page, View, type DocumentProps } from '@react-pdf/renderer'
import { valueAt } from '../data.ts'
import { TemplateError } from '../errors.ts'
import { isText, LINE_HEIGHT, type Checked, type CheckedNode } from '../markup/check-markup.ts'
import type { Style } from '../markup/style-attribute.ts'
import { widthOf } from '../text/measure.ts'
import { blocks, isHeading } from './blocks.ts'
import type { Build } from './build.ts'
import { longTable } from './long-table.ts'
import { sheetOf, type Sheet } from './sheet.ts'
import { FLOWING_ROWS } from './flowing-table.ts'

const INK = '#1f2328'
/** Points reserved above and below a heading. The default margins need at most 16. */
const HEADING_MARGINS = 20

/** Builds the document as React-PDF elements. `date` is the only time in the file, so the output is reproducible. */
export function buildDocument (document: Checked<'document'>, build: Build, date: Date): ReactElement<DocumentProps> {
  const { values, children } = document
  const pages = children.flatMap((child) => child.name === 'page' ? pagesOf(child, document, build) : [])
  if (pages.length === 0) throw new TemplateError('ELEMENTO_FUORI_POSTO', 'il documento non ha pagine', document.place)
  return createElement(Document, {
    title: values.title ?? '',
    author: values.author ?? '',
    subject: values.subject ?? '',
    creator: 'Locanda',
    producer: 'Locanda',
    language: build.language,
    creationDate: date,
    modificationDate: date
  }, ...pages)
}

/** The pages of one `<page>`. A long table gets pages of its own, between the content above and below it. */
function pagesOf (page: Checked<'page'>, document: Checked<'document'>, build: Build): ReactNode[] {
  const sheet = sheetOf(page, document.values)
  build.bodyWidth = sheet.body.width
  const face = document.values.font ?? 'sans'
  const style: Style = {
    paddingHorizontal: sheet.margin,
    paddingTop: sheet.margin + sheet.headerHeight,
    paddingBottom: sheet.margin + sheet.footerHeight,
    fontFamily: build.fonts.stack(face),
    fontSize: build.fontSize,
    lineHeight: LINE_HEIGHT,
    color: INK,
    ...page.style
  }
  // `experimentalPagination` repeats `fixed` elements only if they are first.
  const strips = (['header', 'footer'] as const).map((name) => strip(page, name, sheet, build))
  const sheetOfPaper = (content: ReactNode[], wrap: boolean) =>
    createElement(Page, { size: sheet.size, style, wrap, experimentalPagination: true }, ...strips, ...content)
  const result: ReactNode[] = []
  for (const part of partsOf(page, build)) {
    if (Array.isArray(part)) {
      if (part.length > 0) result.push(sheetOfPaper(blocks(part, build), true))
    } else {
      const { headings, table } = part
      const canvases = longTable(table, { ...sheet.body, taken: heightOf(headings, sheet.body.width) }, build)
      result.push(...canvases.map((canvas, at) =>
        sheetOfPaper([...(at === 0 ? blocks(headings, build) : []), canvas], false)))
    }
  }
  return result.length > 0 ? result : [sheetOfPaper([], true)]
}

/** A table that gets separate pages, and the headings directly above it. */
interface LongPart { headings: CheckedNode[], table: Checked<'table'> }

/** Splits the content, in order, into flowing nodes and long tables. */
function partsOf (page: Checked<'page'>, { data, flows }: Build): (CheckedNode[] | LongPart)[] {
  const isLong = (values: Checked<'table'>['values']) => {
    const rows = flows || values.data === undefined ? undefined : valueAt(data, values.data)
    return Array.isArray(rows) && rows.length > FLOWING_ROWS
  }
  const isBlank = (node: CheckedNode) => isText(node) && node.text.trim() === ''
  let flowing: CheckedNode[] = []
  const parts: (CheckedNode[] | LongPart)[] = [flowing]
  for (const node of page.children) {
    if (node.name === 'header' || node.name === 'footer') continue
    if (isBlank(node) && flowing.length === 0) continue
    if (node.name === 'table' && isLong(node.values)) {
      const content = flowing.findLastIndex((each) => !isBlank(each) && !isHeading(each)) + 1
      const headings = flowing.splice(content).filter(isHeading)
      flowing = []
      parts.push({ headings, table: node }, flowing)
    } else {
      flowing.push(node)
    }
  }
  return parts
}

/** Estimates the height of headings, rather too high than too low. */
function heightOf (headings: readonly CheckedNode[], width: number): number {
  return headings.reduce((height, heading) => {
    if (!isHeading(heading)) return height
    const { fontSize, lineHeight } = heading.style as { fontSize: number, lineHeight: number }
    const lines = Math.ceil(widthOf(textIn(heading), 700, fontSize) * 1.1 / width)
    return height + lines * fontSize * lineHeight + HEADING_MARGINS
  }, 0)
}

function textIn (node: CheckedNode): string {
  return isText(node) ? node.text : node.children.map(textIn).join('')
}

function strip (page: Checked<'page'>, name: 'header' | 'footer', sheet: Sheet, build: Build): ReactNode {
  const node = page.children.find((child) => child.name === name) as Checked<typeof name> | undefined
  if (!node) return null
  const { margin, headerHeight, footerHeight, size: [, paper] } = sheet
  const [top, minHeight] = name === 'header' ? [margin, headerHeight] : [paper - margin - footerHeight, footerHeight]
  const justifyContent = name === 'header' ? 'flex-start' : 'flex-end'
  const position: Style = { position: 'absolute', left: margin, right: margin, top, minHeight, justifyContent }
  return createElement(View, { fixed: true, style: { ...position, ...node.style } }, ...blocks(node.children, build))
}
