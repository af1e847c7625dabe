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

/** A zone as it was read. */
export interface Found {
  layout: Layout
  lines: string[]
  valid: boolean
  /** The mean logarithm of how likely its characters are: 0 is certain. */
  sureness: number
}

/** A reading with which all digits add up is taken for the likeliest one if it is no more than this less likely. */
const PROOF_COSTS = 9
/** Less sure is no zone at all; where digits do not add up, nothing else proves that it is one. */
const GATE = { valid: -0.8, other: -0.3 }

/** Reads a block of lines as each layout that has as many, and takes the best one. */
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

/** The better one of two readings: one whose digits add up, else the surer one. */
export function better<Each extends Found> (a: Each | undefined, b: Each): Each {
  if (a === undefined || a.valid !== b.valid) return a?.valid ? a : b
  return a.sureness >= b.sureness ? a : b
}

/** Lines of one zone have one height of capitals; one that was measured otherwise gets that of the others. */
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
  // What reads as a visa, or as a French card, is none of the others.
  if (layoutOf(lines) !== layout || !looksLikeZone(layout, lines)) return undefined
  const valid = isProven || holds(lines)
  return sureness < (valid ? GATE.valid : GATE.other) ? undefined : { layout, lines, valid, sureness }
}

/**
 * Digits that add up are enforced where the print allows it, so what is no zone must be told by other signs. So must
 * the layout: of the print of a longer line a shorter one can be read with certainty, its beginning left out.
 */
function looksLikeZone ({ fields: { issuer, nationality } }: Layout, lines: readonly string[]): boolean {
  const listed = (place: Place | undefined) =>
    place !== undefined && ISSUERS.has(withoutFillers(lines[place[0]]!.slice(place[1], place[2])))
  return /^[ACIPV][A-Z<]/.test(lines[0]!) && lines.join('').includes('<<') && (listed(issuer) || listed(nationality))
}
