import { createElement, type ReactNode } from 'react'
import { Canvas, type CanvasProps } from '@react-pdf/renderer'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import type { Checked } from '../markup/check-markup.ts'
import { prepareTables, type PreparedTable } from '../tables/prepare.ts'
import { runsOf, shorten, widthOf, type Run } from '../text/measure.ts'
import type { Build } from './build.ts'

type Painter = Parameters<CanvasProps['paint']>[0]

const PADDING = 5
const HAIRLINE = '#d6d9dc'
const INK = '#1f2328'
const SHADE = '#f3f5f4'

/** The room of a long table. On the first page `taken` points are used by the headings above it. */
interface LongRoom { width: number, height: number, taken: number }

/**
 * A table of many rows, drawn on one canvas per page. Each row is one line, and a text too long for its column ends
 * with an ellipsis. Ten thousand rows take seconds.
 */
export function longTable (node: Checked<'table'>, { width, height, taken }: LongRoom, build: Build): ReactNode[] {
  const parts = prepareTables(node, { width, wraps: false }, build)
    .map((prepared) => ({ ...prepared, ...shortenedTo(width, prepared) }))
  const shortened = parts.reduce((all, part) => all + part.shortened, 0)
  const notice = countWithNoun(shortened, 'cella della tabella è abbreviata', 'celle della tabella sono abbreviate')
  if (shortened > 0) build.warn('TESTO_TRONCATO', notice)
  return parts.flatMap((part, at) => canvasesOf(part, { width, height, taken: at === 0 ? taken : 0 }, build))
}

type ShortenedTable = PreparedTable & { titles: string[] }

/** The pages of one table. Totals follow the last row, on a page with at least that row. */
function canvasesOf (part: ShortenedTable, { width, height, taken }: LongRoom, build: Build): ReactNode[] {
  const { totals, titles } = part
  const rowHeight = part.fontSize * 1.75
  const headHeight = rowHeight + 2
  const rowsIn = (height: number) => Math.max(1, Math.floor((height - headHeight) / rowHeight) - totals.length)
  const perPage = rowsIn(height)
  const onFirst = rowsIn(height - taken)
  return Array.from({ length: 1 + Math.ceil(Math.max(0, part.rows.length - onFirst) / perPage) }, (_, page) => {
    const start = page === 0 ? 0 : onFirst + (page - 1) * perPage
    const shown = part.rows.slice(start, page === 0 ? onFirst : start + perPage)
    const isLast = start + shown.length >= part.rows.length
    return createElement(Canvas, {
      style: { width, height: page === 0 ? height - taken : height },
      paint: (painter: Painter) => {
        const draw = rowPainter(painter, { ...part, width, rowHeight })
        draw(titles, 0, { weight: 700, color: build.accent })
        rule(painter, headHeight - 1, width, build.accent, 1.2)
        shown.forEach(({ cells, isTotal }, at) => {
          if (isTotal) painter.rect(0, headHeight + at * rowHeight, width, rowHeight).fill(SHADE)
          draw(cells, headHeight + at * rowHeight, { weight: isTotal ? 700 : 400, color: INK })
        })
        shown.forEach((_, at) => {
          painter.moveTo(0, headHeight + (at + 1) * rowHeight).lineTo(width, headHeight + (at + 1) * rowHeight)
        })
        painter.lineWidth(0.5).stroke(HAIRLINE)
        if (isLast && totals.length > 0) {
          const top = headHeight + shown.length * rowHeight
          rule(painter, top, width, build.accent, 1.2)
          totals.forEach((cells, at) => draw(cells, top + 1 + at * rowHeight, { weight: 700, color: INK }))
        }
        return null
      }
    })
  })
}

/** Cuts texts to the width of their column, and counts the cut ones. */
function shortenedTo (width: number, { columns, rows, totals, fontSize }: PreparedTable) {
  let shortened = 0
  const fit = (weight: 400 | 700) => (text: string, at: number) => {
    const shown = shorten(text, weight, fontSize, columns[at]!.share * width - PADDING * 2)
    if (shown !== text) shortened++
    return shown
  }
  const lines = {
    titles: columns.map(({ title }) => title).map(fit(700)),
    rows: rows.map(({ cells, isTotal }) => ({ cells: cells.map(fit(isTotal ? 700 : 400)), isTotal })),
    totals: totals.map((line) => line.map(fit(700)))
  }
  return { ...lines, shortened }
}

function rowPainter (
  painter: Painter,
  { columns, fontSize, width, rowHeight }: PreparedTable & { width: number, rowHeight: number }
) {
  const lefts = columns.map((_, at) => columns.slice(0, at).reduce((sum, { share }) => sum + share * width, 0))
  return (cells: string[], top: number, { weight, color }: { weight: 400 | 700, color: string }) => {
    const baseline = top + rowHeight * 0.68
    painter.fontSize(fontSize).fillColor(color)
    let current: Run['font'] | undefined
    cells.forEach((text, at) => {
      if (text === '') return
      const { align, share } = columns[at]!
      const slack = align === 'left' ? 0 : share * width - PADDING * 2 - widthOf(text, weight, fontSize)
      let x = lefts[at]! + PADDING + (align === 'right' ? slack : align === 'center' ? slack / 2 : 0)
      const runs = runsOf(text, weight)
      for (const run of runs) {
        // Use the name with which the renderer has embedded the font. Otherwise it reads the file again at each call.
        if (run.font !== current) painter.font(run.font as never, run.font.postscriptName)
        current = run.font
        painter.text(run.text, x, baseline, {
          lineBreak: false,
          baseline: 'alphabetic',
          // With `features` the font lays out the whole run. Without them right-to-left words would not be reordered.
          ...(run.rightToLeft ? { features: ['kern'] } : {})
        })
        if (runs.length > 1) x += widthOf(run.text, weight, fontSize)
      }
    })
  }
}

function rule (painter: Painter, y: number, width: number, color: string, thickness: number): void {
  painter.lineWidth(thickness).moveTo(0, y).lineTo(width, y).stroke(color)
}
