import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type ParsedMrz, ParseMrzResponse, ParseMrzBody } from '#schemas/scanning.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import type { Clock, Day } from '#src/lib/time.ts'
import type { GuestCodes } from '../guest/codes-in-force.ts'
import { documentKind } from '../guest/document-kind.ts'
import { guestOf, type PrintedPlaces } from '../guest/guest.ts'
import { birthPlaceIn, issuingComune } from '../printed/printed-places.ts'
import { checkLines } from './lines.ts'
import { zoneNotices } from './zone-notices.ts'
import { parseZone, type Zone } from './parse.ts'

const route = routesUnder('Scansione')

const parseRoute = route({ access: 'auth' }, 'parseMrz', 'Legge le righe della zona a lettura ottica di un documento', {
  body: ParseMrzBody, response: { 200: ParseMrzResponse }
})

/** Converts a zone to the API's format. */
export function present (zone: Zone): ParsedMrz {
  const { layout, issuer, nationality } = zone
  return {
    format: layout.format,
    name: zone.given,
    surname: zone.surname,
    docNumber: zone.number,
    birthDate: zone.birth.day ?? '',
    gender: zone.sex,
    nationality: alpha3(nationality),
    expiryDate: zone.expiry?.day ?? '',
    issuingCountry: alpha3(issuer),
    valid: zone.valid,
    checks: zone.checks,
    layout: layout.name,
    documentCode: zone.code,
    nameTruncated: zone.cut,
    nationalityRaw: nationality,
    issuingCountryRaw: issuer
  }
}

/** Germany prints `D`. All other codes of ICAO Doc 9303 part 3, section 5 have three letters. */
function alpha3 (code: string): string {
  return code === 'D' ? 'DEU' : code
}

/**
 * Reads a zone, and the places that the text of an Italian card prints.
 * @throws CampiNonValidi naming a line at fault
 */
export function parseDocument (
  { lines: written, text = '' }: ParseMrzBody, { today, codes }: { today: Day, codes: GuestCodes }
): ParseMrzResponse {
  const { layout, lines } = checkLines(written)
  const zone = parseZone(layout, lines, today)
  const parsed = present(zone)
  const { ospite, avvisi } = guestOf(parsed, codes, printedPlaces(parsed, text, { today, codes }))
  return { parsed, ospite, avvisi: [...zoneNotices(zone, today), ...avvisi] }
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

/** Parses lines of a zone. Stores nothing. */
export const mrzRoutes: FastifyPluginAsyncTypebox<{ clock: Clock }> = async (app, { clock }) => {
  app.post('/api/mrz/parse', parseRoute, async ({ body }) =>
    parseDocument(body, { today: clock.today(), codes: await app.guestCodes() }))
}
