import type { Day } from '#src/lib/time.ts'
import { ISSUERS } from '../issuers.ts'
import { withoutFillers } from '../digits.ts'
import type { Place } from '../layouts.ts'
import { turned, type Gray } from './gray.ts'
import { locate, type Block } from './locate.ts'
import type { Network } from './network.ts'
import { better, readBlock, type Found } from './read-block.ts'

/** A reading with which everything adds up, and that is so sure, needs no further try. */
const SURE = -0.6
/** So sure a single block ends the search among the blocks. */
const SURE_BLOCK = -0.25
/** Less sure is no zone at all. */
const GATE = -0.8

/** Widths of the copy on which lines are looked for: usual print, small print, large print. */
const [USUAL, ...OTHERS] = [700, 1000, 500] as const

/**
 * The zone that a picture shows, whichever way it is held; undefined when there is none. Digits that add up are
 * enforced where the print allows it, so what is no zone must be told by other signs.
 */
export function readPicture (picture: Gray, network: Network, today: Day): Found | undefined {
  let best: Found | undefined
  const read = (from: Gray, blocks: readonly Block[]) => {
    for (const block of blocks) {
      const found = readBlock(from, block, network, today)
      if (found === undefined || !isZone(found)) continue
      best = better(best, found)
      if (found.valid && found.sureness > SURE_BLOCK) break
    }
    return best !== undefined && best.valid && best.sureness > SURE
  }

  const upright = locate(picture, USUAL)
  if (read(picture, upright.slice(0, 3))) return best
  for (const width of OTHERS) {
    if (read(picture, locate(picture, width).slice(0, 4))) return best
  }
  for (const quarters of turns(picture, upright)) {
    const other = turned(picture, quarters)
    if (read(other, locate(other, USUAL).slice(0, 3))) return best
  }
  return best
}

/** Upside down first, or sideways where a picture on its side looks more like a zone. */
function turns (picture: Gray, upright: readonly Block[]): readonly (1 | 2 | 3)[] {
  const [sideways] = locate(turned(picture, 1), USUAL)
  return (sideways?.score ?? 0) > (upright[0]?.score ?? 0) ? [1, 3, 2] : [2, 1, 3]
}

function isZone ({ layout, lines, sureness }: Found): boolean {
  const { issuer, nationality } = layout.fields
  const listed = (place: Place | undefined) =>
    place !== undefined && ISSUERS.has(withoutFillers(lines[place[0]]!.slice(place[1], place[2])))
  return sureness > GATE &&
    /^[ACIPV][A-Z<]/.test(lines[0]!) &&
    lines.join('').includes('<<') &&
    (listed(issuer) || listed(nationality))
}
