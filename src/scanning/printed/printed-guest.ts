import { SCANNED_FIELDS, type Avviso, type ScannedGuest } from '#schemas/scanning.ts'
import type { Day } from '#src/lib/time.ts'
import type { GuestCodes } from '../guest/guest-codes-plugin.ts'
import { birthPlaceFields } from '../guest/guest.ts'
import { expired, minor } from '../guest/holder-notices.ts'
import { readLicence } from './driving-licence.ts'
import { readCard } from './identity-card.ts'

/**
 * Proposes a guest from the text of an Italian driving licence or identity card. Such a text has no check digits, so
 * every field is a proposal. Undefined for any other text, and without a surname.
 */
export function printedGuest (
  text: string, today: Day, codes: GuestCodes
): { ospite: ScannedGuest, avvisi: Avviso[] } | undefined {
  const document = readLicence(text, today, codes) ?? readCard(text, today, codes)
  if (document?.cognome === undefined) return undefined
  const { data_nascita: born, expiry } = document
  const fields = {
    nome: document.nome ?? '',
    cognome: document.cognome,
    sesso: document.sesso ?? '' as const,
    data_nascita: born ?? '',
    cittadinanza: document.cittadinanza ?? '',
    tipo_documento: codes.documentType(document.kind) ?? '',
    numero_documento: document.numero_documento ?? '',
    luogo_rilascio: document.luogo_rilascio ?? ''
  }
  const place = birthPlaceFields(document.birthPlace)
  return {
    ospite: {
      ...fields,
      ...place.fields,
      proposti: [...SCANNED_FIELDS.filter((name) => fields[name] !== ''), ...place.proposed],
      da_completare: [...SCANNED_FIELDS.filter((name) => fields[name] === ''), ...place.missing]
    },
    avvisi: [
      PROPOSED,
      ...(born === undefined ? [] : minor(born, today)),
      ...(expiry === undefined ? [] : expired(expiry, today))
    ]
  }
}

const PROPOSED: Avviso = {
  campo: 'cognome',
  messaggio: 'Il documento non ha una zona a lettura ottica: i campi sono proposti dal testo, controllarli tutti'
}
