import type { DocumentKind, GuestCodes } from '#src/scanning/index.ts'
import type { Day } from '#src/lib/time.ts'
import { inForce, ITALY, STATELESS, type Stato } from './types.ts'
import { comuneLabel, stateLabel } from './labels.ts'
import type { Tables } from './code-tables.ts'

/** The codes of the table `Tipi_Documento` by kind of document. Other kinds are not identity documents. */
const DOCUMENT_TYPES: Readonly<Partial<Record<DocumentKind, string>>> = {
  passport: 'PASOR',
  'diplomatic-passport': 'PASDI',
  'service-passport': 'PASSE',
  'refugee-document': 'RIFUG',
  'electronic-card': 'IDELE',
  card: 'IDENT',
  crew: 'TESEA',
  'driving-licence': 'PATEN'
}

/**
 * Document country codes that ISO 3166-1 lacks: British nationals who are not citizens, Kosovo, former codes of states
 * (ICAO Doc 9303 part 3, section 5).
 */
const OTHER_CODES: Readonly<Record<string, string>> = {
  GBD: 'GBR', GBN: 'GBR', GBO: 'GBR', GBP: 'GBR', GBS: 'GBR', RKS: 'XKX', XKK: 'XKX', ROM: 'ROU', TMP: 'TLS', ZAR: 'COD'
}
const STATELESS_PERSON = 'XXA'

/** The police codes for the data of a document. Hosts may type the name of a state instead of its ISO code. */
export function guestCodes (tables: Tables, today: Day): GuestCodes {
  const stateRow = (alpha3: string): Stato | undefined => {
    const iso3 = OTHER_CODES[alpha3] ?? alpha3
    const found = tables.search('paesi').find((each) => each.iso3 === iso3 && inForce(each, today))
    if (found !== undefined) return found
    const [state, ...others] = tables.named('paesi', iso3).filter((each) => inForce(each, today))
    return others.length > 0 ? undefined : state
  }
  const state = (alpha3: string): string | undefined => stateRow(alpha3)?.codice
  return {
    citizenship: (alpha3) => alpha3 === STATELESS_PERSON ? STATELESS : state(alpha3),
    placeOfIssue: (alpha3) => {
      const code = state(alpha3)
      return code === ITALY ? undefined : code
    },
    documentType: (kind) => tables.documento(DOCUMENT_TYPES[kind] ?? '')?.codice,
    birthPlace: (name, province, born) => {
      const known = tables.named('comuni', name).filter((each) => inForce(each, born))
      const listed = known.filter(({ provincia }) => provincia === province)
      const [comune, ...others] = listed.length > 0 ? listed : known.filter((each) => tables.hadSign(each, province))
      if (comune === undefined || others.length > 0) return undefined
      const { codice, provincia } = comune
      return { stato: ITALY, comune: codice, provincia, label: comuneLabel({ ...comune, cessato_il: null }) }
    },
    birthState: (name) => {
      const found = stateRow(name)
      if (found === undefined || found.codice === ITALY) return undefined
      return { stato: found.codice, comune: '', provincia: '', label: stateLabel(found) }
    },
    comune: (name, day) => {
      const [comune, ...others] = tables.named('comuni', name).filter((each) => inForce(each, day))
      return others.length > 0 ? undefined : comune?.codice
    }
  }
}
