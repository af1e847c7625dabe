import { Circle, G, Line, Path, Rect, Svg, Text, View } from '@react-pdf/renderer'
import { createElement, type ReactNode } from 'react'
import { valueAt } from '../data.ts'
import { approximate, readDecimal, ZERO } from '../decimal.ts'
import { formatValue } from '../language/formats.ts'
import { checkLimit } from '../pdf-limits.ts'
import type { Checked } from '../markup/check-markup.ts'
import { listAt, type Build } from './build.ts'
import { symbolsOf } from '../text/emoji.ts'
import { fitted } from './inline.ts'

/** A few round numbers that cover `min` to `max`. Requires min <= 0 <= max. Returns 0 and 1 when both are zero. */
export function ticks (min: number, max: number): number[] {
  const span = max - min
  if (span === 0) return [0, 1]
  const rough = span / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough)! * power
  const [first, last] = [Math.floor(min / step), Math.ceil(max / step)]
  // Round to remove floating-point errors such as 0.30000000000000004.
  return Array.from({ length: last - first + 1 }, (_, at) => Number(((first + at) * step).toPrecision(12)))
}

/* Margins of the drawing in points, and its colours. */
const LEFT = 66
const TOP = 8
const BOTTOM = 22
const GRID = '#d6d9dc'
const QUIET = '#6b7280'

interface Point { label: string, value: number }
interface Frame {
  points: Point[]
  width: number
  height: number
  color: string
  /** Horizontal distance between two values, in points. */
  step: number
  x (at: number): number
  y (value: number): number
}

/** A bar or line chart. The scale always includes zero. */
export function chart (node: Checked<'bar-chart' | 'line-chart'>, build: Build): ReactNode {
  build.count('charts')
  const { values, name, style } = node
  const points = pointsOf(node, build)
  if (points.length === 0) return null
  const height = Math.max(80, values.height ?? 160)
  // Draw the chart at page width, and scale it down in a narrower box.
  const width = build.bodyWidth
  const drawn = points.map(({ value }) => value)
  const scale = ticks(Math.min(0, ...drawn), Math.max(0, ...drawn))
  const [min, max] = [scale[0]!, scale.at(-1)!]
  const step = (width - LEFT) / points.length
  const frame: Frame = {
    points,
    width,
    height,
    step,
    color: values.color ?? build.accent,
    x: (at) => LEFT + step * (at + 0.5),
    y: (value) => TOP + (height - TOP - BOTTOM) * (max - value) / (max - min)
  }
  const isWhole = scale.every(Number.isInteger)
  const written = (value: number) => {
    const text = formatValue(String(value), values.format ?? 'number', build.language, values.currency)
    return fitted(isWhole ? text.replace(/[.,]00(?!\d)/, '') : text, build)
  }
  return createElement(
    View,
    { style: { marginVertical: 6, ...style }, wrap: false },
    createElement(
      Svg,
      { viewBox: `0 0 ${width} ${height}`, width: '100%', style: { aspectRatio: width / height } },
      ...scale.map((value) => gridLine(frame, value, written(value), build)),
      ...(name === 'bar-chart' ? bars(frame) : line(frame)),
      ...labels(frame, build)
    )
  )
}

function pointsOf ({ values, place }: Checked<'bar-chart' | 'line-chart'>, build: Build): Point[] {
  const list = listAt(build, values.data!, place)
  checkLimit('chartPoints', list.length, place)
  return list.map((item) => ({
    label: fitted(formatValue(valueAt(item, values.label!), 'text', build.language), build, place),
    value: approximate(readDecimal(valueAt(item, values.value!)) ?? ZERO)
  }))
}

function gridLine ({ width, y }: Frame, value: number, text: string, build: Build): ReactNode {
  return createElement(
    G,
    null,
    createElement(Line, {
      x1: LEFT, x2: width, y1: y(value), y2: y(value), stroke: GRID, strokeWidth: value === 0 ? 1 : 0.5
    }),
    label(text, LEFT - 6, y(value) + 2.6, 'end', build)
  )
}

function bars ({ points, x, y, step, color }: Frame): ReactNode[] {
  const width = Math.min(46, step * 0.62)
  return points.map(({ value }, at) => createElement(Rect, {
    x: x(at) - width / 2, y: Math.min(y(0), y(value)), width, height: Math.abs(y(0) - y(value)), fill: color
  }))
}

function line ({ points, x, y, color }: Frame): ReactNode[] {
  const path = points.map(({ value }, at) => `${at === 0 ? 'M' : 'L'}${x(at)} ${y(value)}`).join('')
  return [
    createElement(Path, { d: path, stroke: color, strokeWidth: 1.6, fill: 'none' }),
    ...points.map(({ value }, at) => createElement(Circle, { cx: x(at), cy: y(value), r: 2.2, fill: color }))
  ]
}

/** Labels below the axis. If all of them would overlap, only every n-th is drawn. Each is shortened to its space. */
function labels ({ points, height, x, step }: Frame, build: Build): ReactNode[] {
  const room = Math.max(1, Math.ceil(34 / step))
  const longest = Math.max(3, Math.floor(step * room / 4.4))
  return points.flatMap(({ label: text }, at) => {
    if (at % room !== 0) return []
    const letters = symbolsOf(text)
    const shown = letters.length > longest ? `${letters.slice(0, longest - 1).join('')}…` : text
    return [label(shown, x(at), height - 8, 'middle', build)]
  })
}

function label (text: string, x: number, y: number, textAnchor: 'middle' | 'end', build: Build): ReactNode {
  return createElement(Text, {
    x, y, textAnchor, fill: QUIET, style: { fontSize: 7.5, fontFamily: build.fonts.stack('sans') }
  } as never, text)
}
