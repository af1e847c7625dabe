import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type ParsedMrz, ParseMrzResponse, ParseMrzBody } from '#schemas/scanning.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import type { Clock, Day } from '#src/lib/time.ts'
import type { BirthPlace, GuestCodes } from '../guest/codes-in-force.ts'
import { documentKind } from '../guest/document-kind.ts'
import { guestOf } from '../guest/guest.ts'
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

/** The format on Italian identity cards: `ROMA (RM) 30.12.1964`. */
const PLACE_AND_DATE = /^([\p{L}\p{M}'’‘ʼ`´./\p{Pd} ]{2,60}?)\s*\(([A-Z]{2})\)\s*,?\s*(\d{2})[./-](\d{2})[./-](\d{4})$/u

/**
 * Finds the comune of birth in the text of an Italian card: a line with comune, province and the birth date of the
 * zone. Undefined unless the tables have exactly one such comune.
 */
function birthPlaceIn (text: string, born: Day, codes: GuestCodes): BirthPlace | undefined {
  const found = text.split('\n').flatMap((line) => {
    const [, name, province, day, month, year] = PLACE_AND_DATE.exec(line.trim()) ?? []
    return name !== undefined && `${year}-${month}-${day}` === born ? [codes.birthPlace(name, province!, born)] : []
  })
  const [first] = found
  return found.every((each) => each !== undefined && each.comune === first?.comune) ? first : undefined
}

/** Parses lines of a zone. Stores nothing. */
export const mrzRoutes: FastifyPluginAsyncTypebox<{ clock: Clock }> = async (app, { clock }) => {
  app.post('/api/mrz/parse', parseRoute, async ({ body }) => {
    const { layout, lines } = checkLines(body.lines)
    const today = clock.today()
    const zone = parseZone(layout, lines, today)
    const parsed = present(zone)
    const codes = await app.guestCodes()
    const { ospite, avvisi } = guestOf(parsed, codes, birthPlaceOf(parsed, body.text ?? '', codes))
    return { parsed, ospite, avvisi: [...zoneNotices(zone, today), ...avvisi] }
  })
}

/** Proposes a place of birth, only for an Italian card with a correct check digit of the birth date. */
function birthPlaceOf (parsed: ParsedMrz, text: string, codes: GuestCodes) {
  const { documentCode, issuingCountry, birthDate, checks } = parsed
  const isCard = documentKind(documentCode, issuingCountry) === 'electronic-card'
  return isCard && checks.birthDate ? birthPlaceIn(text, birthDate, codes) : undefined
}
