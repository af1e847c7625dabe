import { createElement, type ReactNode } from 'react'
import { View } from '@react-pdf/renderer'
import { TemplateError } from '../errors.ts'
import type { Checked } from '../markup/check-markup.ts'
import type { Style } from '../markup/style-attribute.ts'
import { prepareTable, type Column, type PreparedTable } from '../tables/prepare.ts'
import type { Build } from './build.ts'
import { words } from './inline.ts'

/** More rows are drawn by hand on pages of their own: laid out as elements they would take minutes. */
export const FLOWING_ROWS = 300

const HAIRLINE = { borderBottomWidth: 0.5, borderBottomColor: '#d6d9dc' }
const SUBTOTAL = { ...HAIRLINE, fontWeight: 600 as const, backgroundColor: '#f3f5f4' }
const NOTHING = { it: 'Nessuna riga', en: 'No rows', de: 'Keine Zeilen', fr: 'Aucune ligne' }

/** A table that runs with the page: cells wrap, the head is repeated on every page, no row is parted. */
export function table (node: Checked<'table'>, build: Build): ReactNode {
  const prepared = prepareTable(node, build.bodyWidth, build)
  if (prepared.rows.length > FLOWING_ROWS && !build.flows) {
    const message = `una tabella di più di ${FLOWING_ROWS} righe sta direttamente in <page>`
    throw new TemplateError('ELEMENTO_FUORI_POSTO', message, node.place)
  }
  const { columns, rows, totals, fontSize } = prepared
  const line = (cells: string[], style: Style, fixed = false) => createElement(
    View,
    { style: { flexDirection: 'row', ...style }, wrap: false, fixed },
    ...cells.map(cellOf(columns, build))
  )
  const lines = [
    ...(rows.length === 0
      ? [emptyLine(node, build)]
      : rows.map(({ cells, isTotal }) => line(cells, isTotal ? SUBTOTAL : HAIRLINE))),
    ...(totals ? [line(totals, totalStyle(build.accent))] : [])
  ]
  // The totals do not stand alone on a page; nor does a margin below the table, which would take the head with it.
  const last = createElement(View, { wrap: false, style: { paddingBottom: 6 } }, ...lines.splice(-2))
  return createElement(
    View,
    { style: { marginTop: 6, fontSize, lineHeight: 1.25, ...node.style } },
    line(columns.map(({ title }) => title), headStyle(build.accent), true),
    ...lines,
    last
  )
}

function headStyle (accent: string): Style {
  return { fontWeight: 700, color: accent, borderBottomWidth: 1.2, borderBottomColor: accent }
}

function totalStyle (accent: string): Style {
  return { fontWeight: 700, borderTopWidth: 1.2, borderTopColor: accent }
}

function cellOf (columns: PreparedTable['columns'], build: Build) {
  return (text: string, at: number): ReactNode => {
    const { share, align } = columns[at] as Column
    const style: Style = { width: `${share * 100}%`, paddingVertical: 3, paddingHorizontal: 5, textAlign: align }
    return words(text, style, build)
  }
}

function emptyLine ({ values }: Checked<'table'>, build: Build): ReactNode {
  return words(values.empty ?? NOTHING[build.language], { padding: 3, color: '#6b7280' }, build)
}
