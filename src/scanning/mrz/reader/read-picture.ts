import type { Day } from '#src/lib/time.ts'
import { tilted, turned, type Gray } from './gray.ts'
import { areSeparate, locate, type Block } from './locate.ts'
import type { Network } from './network.ts'
import { better, readBlock, type Found } from './read-block.ts'

/** A reading with correct check digits and more than this confidence ends the search. */
const SURE = -0.6
/** A block with correct check digits and more than this confidence ends the search among blocks. */
const SURE_BLOCK = -0.25
/** A further document needs correct check digits or at least this confidence. */
const SURE_OTHER = -0.1

/** Widths of the copy that is searched: for usual, small and large print. */
const [USUAL, ...OTHERS] = [700, 1000, 500] as const
/** A document that fills little of a large image: width of the search copy, and the share that it fills. */
const FAR = { width: 2100, part: 1 / 3, minWidth: 1400 }
/** Tilts to try when nothing is found, in radians. Lines within 26 degrees of them are found. */
const TILTS = [0.6, -0.6]

/** A zone in an image. */
interface FoundInPicture extends Found {
  /** Clockwise quarter turns that make the image upright. */
  quarters: 0 | 1 | 2 | 3
  /** The zones of further documents on the same image. */
  others: Found[]
}

/** Finds the zones of an image in any orientation. Undefined when there is none. */
export function readPicture (picture: Gray, network: Network, today: Day): FoundInPicture | undefined {
  let best: FoundInPicture | undefined
  const read = (from: Gray, blocks: readonly Block[], quarters: FoundInPicture['quarters'] = 0, limit = 3) => {
    for (const block of blocks.slice(0, limit)) {
      const found = readBlock(from, block, network, today)
      if (found === undefined) continue
      const before = best
      best = better(best, { ...found, quarters, others: [] })
      if (best === before) continue
      if (!found.isCorrect || found.confidence <= SURE_BLOCK) continue
      best.others = readOthers(from, blocks, block, found)
      break
    }
    return best !== undefined && best.isCorrect && best.confidence > SURE
  }

  const readOthers = (from: Gray, blocks: readonly Block[], first: Block, known: Found) => {
    const separate = [first]
    return blocks.flatMap((block) => {
      if (!separate.every((other) => areSeparate(other, block))) return []
      const found = readBlock(from, block, network, today)
      if (found === undefined || (!found.isCorrect && found.confidence < SURE_OTHER)) return []
      separate.push(block)
      return found.lines.join() === known.lines.join() ? [] : [found]
    })
  }

  const upright = locate(picture, USUAL)
  if (read(picture, upright)) return best
  // A zone found here is upright, so the image is not turned. Other widths may show it better.
  if (best !== undefined) {
    OTHERS.some((width) => read(picture, locate(picture, width), 0, 4))
    return best
  }
  const onSide = turned(picture, 1)
  const sideways = locate(onSide, USUAL)
  const readTurned = (quarters: 1 | 2 | 3) => {
    const other = quarters === 1 ? onSide : turned(picture, quarters)
    return read(other, quarters === 1 ? sideways : locate(other, USUAL), quarters)
  }
  // Try likely orientations before other widths.
  const [likely, rest] = turns(upright[0], sideways[0], onSide)
  if (likely.some(readTurned)) return best
  if (OTHERS.some((width) => read(picture, locate(picture, width), 0, 4))) return best
  rest.some(readTurned)
  if (best !== undefined) return best
  for (const angle of TILTS) {
    const other = tilted(picture, angle)
    if (read(other, locate(other, USUAL))) return best
  }
  if (picture.width >= FAR.minWidth) read(picture, locate(picture, FAR.width, FAR.part), 0, 4)
  return best
}

type Turns = readonly (1 | 2 | 3)[]

/** Splits quarter turns into likely ones, with which the image looks more like a zone, and others. */
function turns (upright: Block | undefined, sideways: Block | undefined, onSide: Gray): [likely: Turns, rest: Turns] {
  if ((sideways?.score ?? 0) <= (upright?.score ?? 0)) return [[2], [1, 3]]
  // A zone is at the bottom of its document.
  return [sideways!.lines[0]!.y > onSide.height / 2 ? [1, 3] : [3, 1], [2]]
}
