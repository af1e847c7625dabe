import { withoutFillers } from '../digits.ts'
import { ISSUERS } from '../issuers.ts'
import { layoutOf, type Layout, type Place } from '../layouts.ts'
import { parseZone } from '../parse.ts'
import type { Day } from '#src/lib/time.ts'
import { findCells, type Cell } from './cells.ts'
import type { Gray } from './gray.ts'
import type { Block } from './locate.ts'
import { look, type Network } from './network.ts'
import { READABLE, type Readable } from './spots.ts'
import { solve } from './solve.ts'
import { measure, stripOf, type Measured } from './strip.ts'

/** A zone read from an image. */
export interface Found {
  layout: Layout
  lines: string[]
  valid: boolean
  /** Mean log likelihood of the characters: 0 is certain. */
  sureness: number
}

/** A reading with valid check digits replaces the likeliest one if its log likelihood is at most this much lower. */
const PROOF_COSTS = 9
/** Minimum sureness of a zone. Without valid check digits, only sureness distinguishes a zone from other text. */
const GATE = { valid: -0.8, other: -0.3 }

/** Reads a block as each layout with that number of lines, and returns the best reading. */
export function readBlock (picture: Gray, { lines }: Block, network: Network, today: Day): Found | undefined {
  const measured = alike(lines.map((line) => measure(picture, line)))
  const seen = measured.map((line) => {
    const strip = stripOf(picture, line)
    return { columns: look(network, strip), textLength: line.length * strip.scale }
  })
  const fitting = READABLE.filter(({ layout }) => layout.lines === lines.length)
  const byLength = [...Map.groupBy(fitting, ({ layout }) => layout.length)]
  const found = byLength.flatMap(([length, layouts]) => {
    const cells = seen.map(({ columns, textLength }) => findCells(columns, length, textLength)?.cells)
    if (!cells.every((each) => each !== undefined)) return []
    return layouts.flatMap((readable) => readAs(readable, cells, today) ?? [])
  })
  return found.reduce<Found | undefined>(better, undefined)
}

/** The better of two readings: the valid one, else the surer one. */
export function better<Each extends Found> (a: Each | undefined, b: Each): Each {
  if (a === undefined || a.valid !== b.valid) return a?.valid ? a : b
  return a.sureness >= b.sureness ? a : b
}

/** Lines of one zone have equal capital heights. An outlier gets the median. */
function alike (lines: Measured[]): Measured[] {
  const caps = lines.map(({ cap }) => cap).sort((a, b) => a - b)
  const usual = caps[caps.length >> 1]!
  return lines.map((line) => line.cap > usual * 1.25 || line.cap < usual * 0.8 ? { ...line, cap: usual } : line)
}

function readAs (readable: Readable, cells: Cell[][], today: Day): Found | undefined {
  const { layout } = readable
  const { free, proven } = solve(readable, cells)
  const holds = (lines: string[]) => parseZone(layout, lines, today).valid
  const isProven = proven !== undefined && free.likelihood - proven.likelihood < PROOF_COSTS && holds(proven.lines)
  const { lines, likelihood } = isProven ? proven : free
  const sureness = likelihood / (layout.lines * layout.length)
  // A reading that matches an earlier layout (visa, French card) belongs to that one.
  if (layoutOf(lines) !== layout || !looksLikeZone(layout, lines)) return undefined
  const valid = isProven || holds(lines)
  return sureness < (valid ? GATE.valid : GATE.other) ? undefined : { layout, lines, valid, sureness }
}

/**
 * Rejects false positives by signs other than check digits, which `solve` enforces. It also rejects wrong layouts: part
 * of a longer line reads well as a shorter line.
 */
function looksLikeZone ({ fields: { issuer, nationality } }: Layout, lines: readonly string[]): boolean {
  const listed = (place: Place | undefined) =>
    place !== undefined && ISSUERS.has(withoutFillers(lines[place[0]]!.slice(place[1], place[2])))
  return /^[ACIPV][A-Z<]/.test(lines[0]!) && lines.join('').includes('<<') && (listed(issuer) || listed(nationality))
}
