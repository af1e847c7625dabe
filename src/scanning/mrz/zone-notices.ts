import type { Avviso, Leggibilita, MrzChecks } from '#schemas/scanning.ts'
import { MRZ_CHECKS } from '#schemas/scanning.ts'
import type { Day } from '#src/lib/time.ts'
import { expired, minor } from '../guest/holder-notices.ts'
import type { DateFault, ZoneDate } from './dates.ts'
import { ISSUERS } from './issuers.ts'
import { illegible } from './legible-fields.ts'
import { hasKnownForm } from './number-forms.ts'
import type { Zone } from './parse.ts'

const BAD_DIGITS: Readonly<Record<keyof MrzChecks, string>> = {
  docNumber: 'La cifra di controllo del numero del documento non corrisponde',
  birthDate: 'La cifra di controllo della data di nascita non corrisponde',
  expiryDate: 'La cifra di controllo della scadenza non corrisponde',
  optionalData: 'La cifra di controllo dei dati facoltativi non corrisponde',
  composite: 'La cifra di controllo complessiva non corrisponde'
}
const REREAD = 'rileggere la zona'

const DATE_FAULTS: Readonly<Record<DateFault, string>> = {
  incomplete: 'non è indicata per intero',
  unreadable: 'contiene lettere',
  impossible: 'non è un giorno del calendario'
}

/** The Italian names of the fields that an image may not show well. */
const UNSEEN: Readonly<Record<keyof Leggibilita, string>> = {
  documentCode: 'La sigla del documento',
  issuingCountry: 'Lo Stato che ha emesso il documento',
  surname: 'Il cognome',
  name: 'Il nome',
  docNumber: 'Il numero del documento',
  nationality: 'La cittadinanza',
  birthDate: 'La data di nascita',
  gender: 'Il sesso',
  expiryDate: 'La scadenza',
  optionalData: 'La parte dei dati facoltativi',
  composite: 'La cifra di controllo complessiva'
}

/**
 * Warnings about the zone, for the host.
 * @param legibility how well an image shows the zone. An illegible field gets no warning about its check digit
 */
export function zoneNotices (zone: Zone, today: Day, legibility?: Leggibilita): Avviso[] {
  const { birth, expiry } = zone
  const unseen = illegible(legibility)
  return [
    ...unseen.map((campo) => ({ campo, messaggio: `${UNSEEN[campo]} non si vede bene: confrontare con il documento` })),
    ...MRZ_CHECKS.filter((name) => failed(zone, name) && !unseen.includes(name))
      .map((campo) => ({ campo, messaggio: `${BAD_DIGITS[campo]}: ${REREAD}` })),
    ...dateNotices('birthDate', 'La data di nascita', birth),
    ...(expiry ? dateNotices('expiryDate', 'La scadenza', expiry) : noExpiry),
    ...nameNotices(zone),
    ...codeNotices(zone),
    ...formNotices(zone),
    ...(birth.day !== undefined ? minor(birth.day, today) : []),
    ...(expiry?.day !== undefined ? expired(expiry.day, today) : [])
  ]
}

const noExpiry: Avviso[] = [
  { campo: 'expiryDate', messaggio: 'È una carta d’identità francese del vecchio tipo: la zona non dice la scadenza' }
]

/** Whether a check digit is wrong. False for an impossible date, which has its own warning. */
function failed ({ checks, birth, expiry }: Zone, name: keyof MrzChecks): boolean {
  const date = name === 'birthDate' ? birth : name === 'expiryDate' ? expiry : undefined
  return checks[name] === false && date?.fault !== 'impossible'
}

function dateNotices (campo: string, what: string, date: ZoneDate): Avviso[] {
  if (date.fault === undefined) return []
  return [{ campo, messaggio: `${what} nella zona (${date.text}) ${DATE_FAULTS[date.fault]}` }]
}

function nameNotices ({ surname, given, cut }: Zone): Avviso[] {
  const notices: Avviso[] = []
  if (cut) {
    const messaggio = 'Il nome riempie tutto il suo spazio: può essere troncato, confrontarlo con il documento'
    notices.push({ campo: 'name', messaggio })
  }
  for (const [campo, text] of [['surname', surname], ['name', given]] as const) {
    if (/\d/.test(text)) notices.push({ campo, messaggio: `«${text}» contiene cifre: copiarlo dal documento` })
  }
  return notices
}

function codeNotices ({ issuer, nationality }: Zone): Avviso[] {
  const codes = [['issuingCountry', 'dello Stato che ha emesso il documento', issuer],
    ['nationality', 'della cittadinanza', nationality]] as const
  return codes.filter(([, , code]) => code !== '' && !ISSUERS.has(code)).map(([campo, what, code]) => (
    { campo, messaggio: `La sigla ${code} ${what} non è in uso: ${REREAD}` }))
}

function formNotices ({ code, issuer, number }: Zone): Avviso[] {
  const messaggio = `Il numero ${number} non ha la forma delle carte d’identità elettroniche: confrontarlo`
  return issuer === 'ITA' && code === 'C' && hasKnownForm(code, issuer, number) === false
    ? [{ campo: 'docNumber', messaggio }]
    : []
}
