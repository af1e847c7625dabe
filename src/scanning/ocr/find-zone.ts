import type { Leggibilita } from '#schemas/scanning.ts'
import type { Day } from '#src/lib/time.ts'
import { legibleFields } from '../mrz/legible-fields.ts'
import type { Gray } from '../mrz/reader/gray.ts'
import type { Fault } from '../mrz/reader/legibility.ts'
import { readNetwork, type Network } from '../mrz/reader/network.ts'
import type { Found } from '../mrz/reader/read-block.ts'
import { readPicture } from '../mrz/reader/read-picture.ts'

interface FindZonePayload { picture: Gray, today: Day }

/** The lines of a zone, and how well the image shows them. */
export interface SeenZone { lines: string[], legibility: Leggibilita, faults: Fault[] }

/** The zones of an image, and the clockwise quarter turns that make it upright. */
interface FoundZones { zones: SeenZone[], quarters: 0 | 1 | 2 | 3 }

/** Loaded once per thread, for its first image. */
let network: Network | undefined

/** A worker task that searches an image for zones. */
export default function findZone ({ picture, today }: FindZonePayload): FoundZones {
  network ??= readNetwork(new URL('../mrz/reader/model/weights.bin', import.meta.url))
  const found = readPicture(picture, network, today)
  return found === undefined
    ? { zones: [], quarters: 0 }
    : { zones: [found, ...found.others].map(seenZone), quarters: found.quarters }
}

function seenZone ({ layout, lines, characters, faults }: Found): SeenZone {
  return { lines, legibility: legibleFields(layout, lines, characters), faults }
}
