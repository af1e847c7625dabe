import { MRZ_CHECKS, type Leggibilita, type MrzChecks, type ParsedMrz } from '#schemas/scanning.ts'
import { illegible } from './legible-fields.ts'
import type { Zone } from './parse.ts'

/**
 * Converts a zone to the API's format.
 * @param legibility how well an image shows the zone. A check digit does not confirm an illegible character
 */
export function present (zone: Zone, legibility?: Leggibilita): ParsedMrz {
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
    valid: zone.valid && illegible(legibility).length === 0,
    checks: legibleChecks(zone.checks, legibility),
    layout: layout.name,
    documentCode: zone.code,
    nameTruncated: zone.cut,
    nationalityRaw: nationality,
    issuingCountryRaw: issuer
  }
}

/** The check of an illegible field becomes false, and so does the composite check, which covers that field. */
function legibleChecks (checks: MrzChecks, legibility: Leggibilita | undefined): MrzChecks {
  const illegibleNames = MRZ_CHECKS.filter((name) => illegible(legibility).includes(name))
  if (illegibleNames.length === 0) return checks
  const failing = [...illegibleNames, 'composite'].filter((name) => checks[name as keyof MrzChecks] !== null)
  return { ...checks, ...Object.fromEntries(failing.map((name) => [name, false])) }
}

/** Germany prints `D`, and Slovenia printed `SI` on its first identity cards. All other codes have three letters. */
function alpha3 (code: string): string {
  return code === 'D' ? 'DEU' : code === 'SI' ? 'SVN' : code
}
