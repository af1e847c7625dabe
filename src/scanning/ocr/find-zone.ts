import type { Day } from '#src/lib/time.ts'
import type { Gray } from '../mrz/reader/gray.ts'
import { readNetwork, type Network } from '../mrz/reader/network.ts'
import { readPicture } from '../mrz/reader/read-picture.ts'

interface FindZonePayload { picture: Gray, today: Day }

/** The lines of a zone, and the clockwise quarter turns that make the image upright. */
interface FoundZone { lines: string[], quarters: 0 | 1 | 2 | 3 }

/** Loaded once per thread, at its first image. */
let network: Network | undefined

/** A worker task that searches an image for a zone. */
export default function findZone ({ picture, today }: FindZonePayload): FoundZone | null {
  network ??= readNetwork(new URL('../mrz/reader/model/weights.bin', import.meta.url))
  const found = readPicture(picture, network, today)
  return found === undefined ? null : { lines: found.lines, quarters: found.quarters }
}
