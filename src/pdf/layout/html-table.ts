import { createElement, type ReactNode } from 'react'
import { Text, View } from '@react-pdf/renderer'
import { TemplateError } from '../errors.ts'
import { type Checked, type CheckedNode, isText } from '../markup/check-markup.ts'
import type { Style } from '../markup/style-attribute.ts'
import { checkLimit } from '../pdf-limits.ts'
import { needsOf, sharesOf } from '../tables/widths.ts'
import type { Build } from './build.ts'
import { fitted } from './inline.ts'

type Cell = Checked<'td' | 'th'>

const LINE: Style = { flexDirection: 'row', borderBottomWidth: 0.5, borderBottomColor: '#d6d9dc' }
const CELL: Style = { paddingVertical: 3, paddingHorizontal: 5 }
const MARKER_WIDTH = 16

/** Builds the content of a cell or list item. A parameter, because `blocks.ts` imports this file. */
type BuildBlocks = (nodes: CheckedNode[], build: Build) => ReactNode[]

/**
 * A table whose rows are in the template. If the first of several rows contains only `th`, it repeats on every page.
 * @param heading the heading above, which stays with the first row
 * @throws TemplateError without rows, or with a child that is not a `tr`
 */
export function htmlTable (
  node: Checked<'table'>, build: Build, blocks: BuildBlocks, heading?: ReactNode
): ReactNode {
  const rows = node.children.filter((child) => child.name === 'tr') as Checked<'tr'>[]
  if (rows.length === 0 || rows.length < node.children.length) {
    throw new TemplateError('ATTRIBUTO_MANCANTE', 'a <table> manca l’attributo «data», oppure righe <tr>', node.place)
  }
  const shares = sharesIn(rows, node, build)
  const line = (row: Checked<'tr'>, fixed = false) => createElement(
    View,
    { style: { ...LINE, ...row.style }, wrap: false, fixed },
    ...placed(row).map(({ cell, at, span }) => {
      const share = shares.slice(at, at + span).reduce((all, each) => all + each, 0)
      const { width: _, ...style } = cell.style
      const look: Style = {
        ...CELL,
        ...(cell.name === 'th' ? { fontWeight: 700 } : {}),
        ...(cell.values.align ? { textAlign: cell.values.align } : {}),
        ...style,
        width: `${share * 100}%`
      }
      return createElement(View, { style: look }, ...blocks(cell.children, build))
    })
  )
  const [first, ...others] = rows
  const isHead = others.length > 0 && first!.children.every((cell) => cell.name === 'th')
  return createElement(
    View,
    { style: { marginTop: 6, marginBottom: 6, ...node.style } },
    ...(heading === undefined ? [] : [heading]),
    line(first!, isHead),
    ...others.map((row) => line(row))
  )
}

/** The cells of a row, each with its first column. */
function placed (row: Checked<'tr'>): { cell: Cell, at: number, span: number }[] {
  let next = 0
  return (row.children as Cell[]).map((cell) => {
    const span = cell.values.colspan ?? 1
    next += span
    return { cell, at: next - span, span }
  })
}

/** The share of each column in the width: from a cell with a width, else from the texts. */
function sharesIn (rows: readonly Checked<'tr'>[], node: Checked<'table'>, build: Build): number[] {
  const lines = rows.map(placed)
  const count = Math.max(...lines.map((cells) => cells.reduce((all, { span }) => all + span, 0)))
  checkLimit('columns', count, node.place)
  const columns = Array.from({ length: count }, (_, column) => {
    const own = lines.flatMap((cells) => cells.filter(({ at, span }) => at === column && span === 1))
    const given = own.map(({ cell }) => cell.values.width ?? cell.style.width).find((width) => width !== undefined)
    return { texts: own.map(({ cell }) => fitted(textIn(cell), build)), width: percentOf(given, build.bodyWidth) }
  })
  const description = { field: '', title: '', format: 'text', currency: 'EUR', align: 'left' } as const
  const height = Math.max(...columns.map(({ texts }) => texts.length))
  const needs = needsOf(
    columns.map(({ width }) => ({ ...description, width })),
    {
      titles: columns.map(() => ''),
      totals: [],
      lines: Array.from({ length: height }, (_, row) => columns.map(({ texts }) => texts[row] ?? ''))
    },
    build,
    { width: build.bodyWidth, wraps: true }
  )
  return sharesOf(needs, node.style.fontSize as number | undefined ?? build.fontSize, build.bodyWidth)
}

function percentOf (width: string | number | undefined, whole: number): number {
  if (width === undefined) return 0
  return typeof width === 'number' ? width / whole * 100 : parseFloat(width)
}

function textIn (node: CheckedNode): string {
  return isText(node) ? node.text.replace(/\s+/g, ' ') : node.children.map(textIn).join('')
}

/** A list with bullets or numbers. */
export function list (
  { name, children, style }: Checked<'ul' | 'ol'>, build: Build, blocks: BuildBlocks
): ReactNode {
  const items = children.filter((child) => child.name === 'li') as Checked<'li'>[]
  return createElement(View, { style: { marginBottom: 6, paddingLeft: 6, ...style } }, ...items.map((item, at) =>
    createElement(
      View,
      { style: { flexDirection: 'row', marginBottom: 2, ...item.style } },
      createElement(Text, { style: { width: MARKER_WIDTH } }, name === 'ul' ? '•' : `${at + 1}.`),
      createElement(View, { style: { flexGrow: 1, flexShrink: 1, flexBasis: 0 } }, ...blocks(item.children, build))
    )))
}
