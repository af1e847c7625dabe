import type { OcrResponse } from '#schemas/ocr.ts'
import type { Avviso, ScannedGuest } from '#schemas/scanning.ts'
import type { Day } from '#src/lib/time.ts'
import { parseDocument } from '../mrz/routes.ts'
import type { GuestCodes } from './guest-codes-plugin.ts'

/** A guest as read from the image of a document. */
export interface ReadGuest {
  ospite: ScannedGuest
  avvisi: Avviso[]
  /**
   * Whether all check digits are correct, no date is impossible, and all characters are legible. Null without a zone.
   */
  valid: boolean | null
}

/**
 * The guest of a document: from its first zone, else from its text. Undefined without a zone and a guest in the text.
 */
export function readGuest (
  { zone: [zone], text, ospite, avvisi }: OcrResponse, facts: { today: Day, codes: GuestCodes }
): ReadGuest | undefined {
  if (zone === undefined) return ospite && { ospite, avvisi, valid: null }
  const { lines, leggibilita } = zone
  const { parsed, ...guest } = parseDocument({ lines, text, leggibilita }, facts)
  return { ospite: guest.ospite, avvisi: [...avvisi, ...guest.avvisi], valid: parsed.valid }
}
