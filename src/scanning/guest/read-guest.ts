import type { OcrResponse } from '#schemas/ocr.ts'
import type { Avviso, ScannedGuest } from '#schemas/scanning.ts'
import type { Day } from '#src/lib/time.ts'
import { parseDocument } from '../mrz/routes.ts'
import type { GuestCodes } from './codes-in-force.ts'

/** A guest as read from the image of a document. */
export interface ReadGuest {
  ospite: ScannedGuest
  avvisi: Avviso[]
  /** Whether the zone's characters are legible and its check digits correct. Null without a zone. */
  valid: boolean | null
}

/** The guest of a read document: from its zone, else from its text. Undefined if neither names a guest. */
export function readGuest (
  { zone: [zone], text, ospite, avvisi }: OcrResponse, facts: { today: Day, codes: GuestCodes }
): ReadGuest | undefined {
  if (zone === undefined) return ospite && { ospite, avvisi, valid: null }
  const { lines, leggibilita } = zone
  const { parsed, ...guest } = parseDocument({ lines, text, leggibilita }, facts)
  return { ospite: guest.ospite, avvisi: [...avvisi, ...guest.avvisi], valid: parsed.valid }
}
