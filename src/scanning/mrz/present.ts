import type { ParsedMrz } from '#schemas/scanning.ts'
import type { Zone } from './parse.ts'

/** A zone as the API shows it. */
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

/** Germany prints one letter; every other code of ICAO Doc 9303 part 3, section 5 is three letters long. */
function alpha3 (code: string): string {
  return code === 'D' ? 'DEU' : code
}
