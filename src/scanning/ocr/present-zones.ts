import type { OcrResponse } from '#schemas/ocr.ts'
import type { Avviso } from '#schemas/scanning.ts'
import type { Day } from '#src/lib/time.ts'
import { checkLines } from '../mrz/lines.ts'
import { nameNoticesFrom } from '../mrz/names-in-text.ts'
import { parseZone } from '../mrz/parse.ts'
import { present } from '../mrz/present.ts'
import type { Fault } from '../mrz/reader/legibility.ts'
import { zoneNotices } from '../mrz/zone-notices.ts'
import type { SeenZone } from './find-zone.ts'

const REASONS: Readonly<Record<Fault, string>> = {
  ombra: 'un’ombra copre la zona a lettura ottica',
  riflesso: 'un riflesso copre la zona a lettura ottica',
  mosso: 'la zona a lettura ottica è mossa, sfocata o consumata',
  dito: 'un dito o il bordo della foto copre la zona a lettura ottica',
  inclinata: 'il documento è molto inclinato'
}

/** The zones of an image in the format of the API. `text` is '' when it is not read. */
export function presentZones (zones: readonly SeenZone[], text: string, today: Day): Omit<OcrResponse, 'text'> {
  const read = zones.map(({ lines, legibility }) => {
    const zone = parseZone(checkLines(lines).layout, lines, today)
    return {
      lines,
      parsed: present(zone, legibility),
      leggibilita: legibility,
      avvisi: [...zoneNotices(zone, today, legibility), ...nameNoticesFrom(text, zone)],
      isValidOnPaper: zone.valid
    }
  })
  const [first] = read
  // Clients may send `mrz` to `mrz/parse`, which does not know its legibility, and would call these lines valid.
  const mrz = first === undefined || (first.isValidOnPaper && !first.parsed.valid) ? null : first.lines
  return { mrz, zone: read.map(({ isValidOnPaper, ...zone }) => zone), avvisi: imageNotices(zones) }
}

function imageNotices (zones: readonly SeenZone[]): Avviso[] {
  const faults = [...new Set(zones.flatMap((zone) => zone.faults))]
  const count = `Nella foto ci sono ${zones.length} documenti: mrz è il primo, zone li contiene tutti`
  const messages = [
    ...(zones.length > 1 ? [count] : []),
    ...faults.map((fault) => `Fotografare di nuovo: ${REASONS[fault]}`)
  ]
  return messages.map((messaggio) => ({ campo: 'image', messaggio }))
}
