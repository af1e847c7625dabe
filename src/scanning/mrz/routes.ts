import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type ParsedMrz, ParseMrzResponse, ParseMrzBody } from '#schemas/scanning.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import type { Clock, Day } from '#src/lib/time.ts'
import type { GuestCodes } from '../guest/guest-codes-plugin.ts'
import { documentKind } from '../guest/document-kind.ts'
import { guestOf, type PrintedPlaces } from '../guest/guest.ts'
import { birthPlaceIn, issuingComune } from '../printed/printed-places.ts'
import { checkLines } from './lines.ts'
import { zoneNotices } from './zone-notices.ts'
import { nameNoticesFrom } from './names-in-text.ts'
import { parseZone } from './parse.ts'
import { present } from './present.ts'

const route = routesUnder('Scansione')

const parseRoute = route({ access: 'auth' }, 'parseMrz', 'Legge le righe della zona a lettura ottica di un documento', {
  body: ParseMrzBody, response: { 200: ParseMrzResponse }
})

/**
 * Reads a zone, and the places that the text of an Italian card prints.
 * @throws CampiNonValidi for lines with an invalid character or length
 */
export function parseDocument (
  { lines: written, text = '', leggibilita }: ParseMrzBody, { today, codes }: { today: Day, codes: GuestCodes }
): ParseMrzResponse {
  const { layout, lines } = checkLines(written)
  const zone = parseZone(layout, lines, today)
  const parsed = present(zone, leggibilita)
  const { ospite, avvisi } = guestOf(
    { ...parsed, birthDate: zone.birth.day ?? zone.birth.partial ?? '' },
    codes,
    printedPlaces(parsed, text, { today, codes })
  )
  const own = [...zoneNotices(zone, today, leggibilita), ...nameNoticesFrom(text, zone)]
  return { parsed, ospite, avvisi: [...own, ...avvisi] }
}

/** Proposes places only for an Italian card, and a place of birth only if the digit of the birth date is correct. */
function printedPlaces (
  parsed: ParsedMrz, text: string, { today, codes }: { today: Day, codes: GuestCodes }
): PrintedPlaces {
  const { documentCode, issuingCountry, birthDate, checks } = parsed
  if (documentKind(documentCode, issuingCountry) !== 'electronic-card') return {}
  return {
    birthPlace: checks.birthDate ? birthPlaceIn(text, birthDate, codes) : undefined,
    luogo_rilascio: issuingComune(text, today, codes)
  }
}

/** The route that parses the lines of a zone. It stores nothing. */
export const mrzRoutes: FastifyPluginAsyncTypebox<{ clock: Clock }> = async (app, { clock }) => {
  app.post('/api/mrz/parse', parseRoute, async ({ body }) =>
    parseDocument(body, { today: clock.today(), codes: await app.guestCodes() }))
}
