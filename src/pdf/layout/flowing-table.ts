import { createElement, type ReactNode } from 'react'
import { View } from '@react-pdf/renderer'
import { TemplateError } from '../errors.ts'
import type { Checked } from '../markup/check-markup.ts'
import type { Style } from '../markup/style-attribute.ts'
import { prepareTables, type Column, type PreparedTable } from '../tables/prepare.ts'
import type { Build } from './build.ts'
import { words } from './inline.ts'

/** Tables with more rows use `longTable`, because laying out so many elements takes minutes. */
export const FLOWING_ROWS = 300

const HAIRLINE = { borderBottomWidth: 0.5, borderBottomColor: '#d6d9dc' }
const SUBTOTAL = { ...HAIRLINE, fontWeight: 600 as const, backgroundColor: '#f3f5f4' }
const CELL = { paddingVertical: 3, paddingHorizontal: 5 }
const NO_ROWS = { it: 'Nessuna riga', en: 'No rows', de: 'Keine Zeilen', fr: 'Aucune ligne' }

/**
 * A table that flows over pages: cells wrap, the head repeats on every page, rows are not split.
 * @param heading the heading above, which stays with the first row
 * @throws TemplateError for a table with too many rows that is not directly in `<page>`
 */
export function flowingTable (node: Checked<'table'>, build: Build, heading?: ReactNode): ReactNode {
  const tables = prepareTables(node, { width: build.bodyWidth, wraps: true }, build)
  if (tables[0]!.rows.length > FLOWING_ROWS && !build.flows) {
    const message = `una tabella di più di ${FLOWING_ROWS} righe sta direttamente in <page>`
    throw new TemplateError('ELEMENTO_FUORI_POSTO', message, node.place)
  }
  const parts = tables.map((prepared, at) => tableView(prepared, node, build, at === 0 ? heading : undefined))
  return parts.length === 1 ? parts[0] : createElement(View, {}, ...parts)
}

function tableView (
  { columns, rows, totals, fontSize }: PreparedTable, node: Checked<'table'>, build: Build, heading?: ReactNode
): ReactNode {
  const { accent } = build
  const head: Style = { fontWeight: 700, color: accent, borderBottomWidth: 1.2, borderBottomColor: accent }
  const sum: Style = { fontWeight: 700, borderTopColor: accent }
  const line = (cells: string[], style: Style, fixed = false) => createElement(
    View,
    { style: { flexDirection: 'row', ...style }, wrap: false, fixed },
    ...cells.map((text, at) => words(text, { ...CELL, ...placeOf(columns[at]!) }, build))
  )
  const lines = [
    ...(rows.length === 0
      ? [words(node.values.empty ?? NO_ROWS[build.language], { padding: 3, color: '#6b7280' }, build)]
      : rows.map(({ cells, isTotal }) => line(cells, isTotal ? SUBTOTAL : HAIRLINE))),
    ...totals.map((cells, at) => line(cells, { ...sum, borderTopWidth: at === 0 ? 1.2 : 0 }))
  ]
  // Keeps the totals with the last row. Padding, because a margin could move to a new page and repeat the head there.
  const last = createElement(View, { wrap: false, style: { paddingBottom: 6 } }, ...lines.splice(-1 - totals.length))
  return createElement(
    View,
    { style: { marginTop: 6, fontSize, lineHeight: 1.25, ...node.style } },
    ...(heading === undefined ? [] : [heading]),
    line(columns.map(({ title }) => title), head, true),
    ...lines,
    last
  )
}

function placeOf ({ share, align }: Column): Style {
  return { width: `${share * 100}%`, textAlign: align }
}
