import type { Day } from '#src/lib/time.ts'
import { turned, type Gray } from './gray.ts'
import { locate, type Block } from './locate.ts'
import type { Network } from './network.ts'
import { better, readBlock, type Found } from './read-block.ts'

/** A valid reading at least this sure ends the search. */
const SURE = -0.6
/** A valid block at least this sure ends the search among blocks. */
const SURE_BLOCK = -0.25

/** Widths of the search copy: for usual, small and large print. */
const [USUAL, ...OTHERS] = [700, 1000, 500] as const

/** A zone in an image. `quarters` clockwise turns make the image upright. */
interface FoundInPicture extends Found { quarters: 0 | 1 | 2 | 3 }

/** Finds the zone of an image in any orientation. Undefined when there is none. */
export function readPicture (picture: Gray, network: Network, today: Day): FoundInPicture | undefined {
  let best: FoundInPicture | undefined
  const read = (from: Gray, blocks: readonly Block[], quarters: FoundInPicture['quarters'] = 0) => {
    for (const block of blocks) {
      const found = readBlock(from, block, network, today)
      if (found === undefined) continue
      best = better(best, { ...found, quarters })
      if (found.valid && found.sureness > SURE_BLOCK) break
    }
    return best !== undefined && best.valid && best.sureness > SURE
  }

  const upright = locate(picture, USUAL)
  if (read(picture, upright.slice(0, 3))) return best
  const onSide = turned(picture, 1)
  const sideways = locate(onSide, USUAL)
  const readTurned = (quarters: 1 | 2 | 3) => {
    const other = quarters === 1 ? onSide : turned(picture, quarters)
    return read(other, (quarters === 1 ? sideways : locate(other, USUAL)).slice(0, 3), quarters)
  }
  // Try likely orientations before smaller and larger print.
  const [likely, rest] = turns(upright[0], sideways[0], onSide)
  if (likely.some(readTurned)) return best
  for (const width of OTHERS) {
    if (read(picture, locate(picture, width).slice(0, 4))) return best
  }
  rest.some(readTurned)
  return best
}

type Turns = readonly (1 | 2 | 3)[]

/** Splits turns into likely and other ones. Sideways is likely when the image on its side looks more like a zone. */
function turns (upright: Block | undefined, sideways: Block | undefined, onSide: Gray): [likely: Turns, rest: Turns] {
  if ((sideways?.score ?? 0) <= (upright?.score ?? 0)) return [[2], [1, 3]]
  // Zones are at the bottom of documents.
  return [sideways!.lines[0]!.y > onSide.height / 2 ? [1, 3] : [3, 1], [2]]
}
