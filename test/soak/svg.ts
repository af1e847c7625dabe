/** A value at a time. The line breaks where `part` changes. */
export interface Point { x: number, y: number, part: number }

/** Lines over time in one panel. */
export interface Panel {
  title: string
  unit: string
  series: readonly { name: string, color: string, points: readonly Point[] }[]
}

/** A time or a time span, shown in all panels. */
export interface Mark { from: number, to: number, color: string }

export interface Drawing {
  title: string
  panels: readonly Panel[]
  marks: readonly Mark[]
  /** Meaning of the marks' colours. */
  legend: readonly { text: string, color: string }[]
  /** End of the time axis, in minutes. */
  minutes: number
}

const WIDTH = 960
const LEFT = 64
const RIGHT = 16
const TOP = 64
const PANEL = 150
const GAP = 52
const TICKS = 4

/** Draws the panels below each other, on one time axis. */
export function drawSvg ({ title, panels, marks, legend, minutes }: Drawing): string {
  const x = (minute: number) => LEFT + minute / minutes * (WIDTH - LEFT - RIGHT)
  const height = TOP + panels.length * (PANEL + GAP)
  const parts = panels.map((panel, at) => drawPanel(panel, TOP + at * (PANEL + GAP) + 20, { x, minutes, marks }))
  const entries = legend.map(({ text: words, color }, at) =>
    `<rect x="${LEFT + at * 150}" y="38" width="12" height="12" fill="${color}"/>${
      text(LEFT + 16 + at * 150, 48, words)}`)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" ` +
    `font-size="12" fill="#333"><rect width="${WIDTH}" height="${height}" fill="#fff"/>` +
    `<text x="${LEFT}" y="24" font-size="15">${escape(title)}</text>\n${[...entries, ...parts].join('\n')}\n</svg>\n`
}

interface Axis { x: (minute: number) => number, minutes: number, marks: readonly Mark[] }

function drawPanel ({ title, unit, series }: Panel, top: number, { x, minutes, marks }: Axis): string {
  const highest = niceTop(Math.max(...series.flatMap(({ points }) => points.map(({ y }) => y)), 0))
  const y = (value: number) => top + PANEL - value / highest * PANEL
  const shades = marks.map(({ from, to, color }) =>
    `<rect x="${round(x(from))}" y="${top}" width="${round(Math.max(x(to) - x(from), 1.5))}" height="${PANEL}" ` +
    `fill="${color}" opacity="0.45"/>`)
  const rows = Array.from({ length: TICKS + 1 }, (_, at) => highest * at / TICKS).map((value) =>
    `<path d="M${LEFT} ${round(y(value))}H${WIDTH - RIGHT}" stroke="#ddd"/>${
      text(LEFT - 6, y(value) + 4, String(round(value)), 'end')}`)
  const step = Math.max(Math.ceil(minutes / 10), 1)
  const columns = Array.from({ length: Math.floor(minutes / step) + 1 }, (_, at) => at * step).map((minute) =>
    text(x(minute), top + PANEL + 16, `${minute} min`, 'middle'))
  const lines = series.flatMap(({ color, points }) =>
    [...Map.groupBy(points, ({ part }) => part).values()].map((those) =>
      `<polyline fill="none" stroke="${color}" stroke-width="1.4" points="${
        those.map((point) => `${round(x(point.x))},${round(y(point.y))}`).join(' ')}"/>`))
  const names = series.map(({ name, color }, at) => text(WIDTH - RIGHT - at * 110, top - 6, name, 'end', color))
  const heading = text(LEFT, top - 6, `${title} (${unit})`)
  return [heading, ...shades, ...rows, ...columns, ...lines, ...series.length > 1 ? names : []].join('\n')
}

function text (x: number, y: number, words: string, anchor = 'start', color = '#333'): string {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" fill="${color}">${escape(words)}</text>`
}

function escape (words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

/** The next round number that four ticks divide well. */
function niceTop (highest: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(highest, 1)))
  return [1, 2, 4, 6, 8, 10].map((factor) => factor * power).find((top) => top >= highest)!
}

function round (value: number): number {
  return Math.round(value * 10) / 10
}
