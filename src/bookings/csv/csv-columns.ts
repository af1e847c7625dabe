import { searchKey } from '#src/lib/search-key.ts'

/* Names of columns in files of hosts, Airbnb, Booking.com and other programs. */

/** A field of a booking, or a part of one. */
export type CsvField =
  | 'id' | 'idf_gen' | 'nome_cognome' | 'nome' | 'cognome' | 'check_in' | 'check_out' | 'numero_notti'
  | 'numero_ospiti' | 'adulti' | 'bambini' | 'neonati' | 'stato' | 'unita_id' | 'canale' | 'prezzo' | 'valuta'
  | 'lingua' | 'paese_id' | 'email' | 'telefono' | 'gruppo' | 'note'

/**
 * The names of each field as `searchKey` folds them. If a file has several names of one field, the import reads the
 * first in this list. Our export uses the first name.
 */
const NAMES: Readonly<Record<CsvField, readonly string[]>> = {
  id: ['ID'],
  idf_gen: [
    'CODICE', 'IDF GEN', 'CODICE PRENOTAZIONE', 'CODICE DI CONFERMA', 'CONFIRMATION CODE', 'NUMERO PRENOTAZIONE',
    'NUMERO DI PRENOTAZIONE', 'N PRENOTAZIONE', 'BOOK NUMBER', 'BOOKING NUMBER', 'BOOKING ID', 'RESERVATION NUMBER',
    'RESERVATION ID', 'RIFERIMENTO', 'REFERENCE', 'CODE'
  ],
  nome_cognome: [
    'OSPITE', 'NOME COGNOME', 'NOME E COGNOME', 'COGNOME E NOME', 'GUEST NAME', 'GUEST NAME S', 'NOME DELL OSPITE',
    'NOME OSPITE', 'OSPITE PRINCIPALE', 'NOME DELL OSPITE DEGLI OSPITI', 'INTESTATARIO', 'CLIENTE', 'PRENOTATO DA',
    'BOOKED BY', 'GUEST', 'NAME'
  ],
  nome: ['NOME', 'FIRST NAME', 'GIVEN NAME'],
  cognome: ['COGNOME', 'LAST NAME', 'SURNAME', 'FAMILY NAME'],
  check_in: [
    'ARRIVO', 'CHECK IN', 'CHECKIN', 'DATA ARRIVO', 'DATA DI ARRIVO', 'DATA CHECK IN', 'DATA DI INIZIO', 'DATA INIZIO',
    'START DATE', 'ARRIVAL', 'ARRIVAL DATE', 'CHECK IN DATE', 'DAL', 'FROM'
  ],
  check_out: [
    'PARTENZA', 'CHECK OUT', 'CHECKOUT', 'DATA PARTENZA', 'DATA DI PARTENZA', 'DATA CHECK OUT', 'DATA DI FINE',
    'DATA FINE', 'END DATE', 'DEPARTURE', 'DEPARTURE DATE', 'CHECK OUT DATE', 'AL', 'TO'
  ],
  numero_notti: [
    'NOTTI', 'NUMERO NOTTI', 'NUMERO DI NOTTI', 'N NOTTI', 'NIGHTS', 'OF NIGHTS', 'NUMBER OF NIGHTS',
    'DURATION NIGHTS', 'DURATA NOTTI', 'DI NOTTI'
  ],
  numero_ospiti: [
    'OSPITI', 'NUMERO OSPITI', 'NUMERO DI OSPITI', 'N OSPITI', 'PERSONE', 'NUMERO PERSONE', 'PEOPLE', 'PERSONS',
    'GUESTS', 'OF GUESTS', 'NUMBER OF GUESTS', 'PAX'
  ],
  adulti: ['ADULTI', 'ADULTS', 'OF ADULTS', 'DI ADULTI', 'NUMERO DI ADULTI'],
  bambini: ['BAMBINI', 'CHILDREN', 'OF CHILDREN', 'DI BAMBINI', 'NUMERO DI BAMBINI'],
  neonati: ['NEONATI', 'INFANTS', 'OF INFANTS', 'DI NEONATI', 'NUMERO DI NEONATI'],
  stato: ['STATO', 'STATUS', 'STATO PRENOTAZIONE', 'BOOKING STATUS'],
  unita_id: [
    'UNITA', 'CAMERA', 'APPARTAMENTO', 'ALLOGGIO', 'ANNUNCIO', 'LISTING', 'ROOM', 'UNIT', 'TIPOLOGIA UNITA', 'UNIT TYPE'
  ],
  canale: ['CANALE', 'CHANNEL', 'PORTALE', 'SOURCE', 'FONTE'],
  prezzo: ['PREZZO', 'PRICE', 'IMPORTO', 'TOTALE', 'TOTAL', 'AMOUNT', 'TOTAL PRICE', 'GUADAGNI', 'EARNINGS'],
  valuta: ['VALUTA', 'CURRENCY'],
  lingua: ['LINGUA', 'LANGUAGE'],
  paese_id: [
    'PAESE', 'PAESE ID', 'NAZIONE', 'PAESE DI PROVENIENZA', 'COUNTRY', 'BOOKER COUNTRY', 'PAESE DEL CLIENTE',
    'PAESE DI CHI PRENOTA'
  ],
  email: ['EMAIL', 'E MAIL', 'MAIL', 'EMAIL ADDRESS', 'INDIRIZZO EMAIL'],
  telefono: ['TELEFONO', 'CELLULARE', 'PHONE', 'PHONE NUMBER', 'NUMERO DI TELEFONO', 'CONTACT', 'CONTATTO'],
  gruppo: ['GRUPPO', 'GROUP'],
  note: ['NOTE', 'NOTES', 'OSSERVAZIONI', 'COMMENTI', 'REMARKS', 'RICHIESTE', 'COMMENTS']
}

const FIELDS = Object.keys(NAMES) as CsvField[]

/** The file's column for each field, and the columns that match no field. */
export interface Columns { of: Partial<Record<CsvField, string>>, ignored: string[] }

/** @param names the columns of the file */
export function recognize (names: readonly string[]): Columns {
  const keys = new Map(names.map((name) => [searchKey(name.replace(/[_#°º]/g, ' ')), name]))
  const found = FIELDS.flatMap((field): [CsvField, string][] => {
    const name = NAMES[field].map((key) => keys.get(key)).find((each) => each !== undefined)
    return name === undefined ? [] : [[field, name]]
  })
  const used = new Set(found.map(([, name]) => name))
  return { of: Object.fromEntries(found), ignored: names.filter((name) => !used.has(name)) }
}

/** A column with data of the guests that the police need. The import has no guests, so it ignores such columns. */
const OF_GUESTS = /NASCITA|NATO|BIRTH|CITTADINANZA|CITIZENSHIP|NATIONALITY|SESSO|GENDER|DOCUMENT|PASSAPORTO|PASSPORT/

export function isOfGuests (name: string): boolean {
  return OF_GUESTS.test(searchKey(name.replaceAll('_', ' ')))
}

/** Texts that mean a confirmed booking, as `searchKey` folds them. */
const CONFIRMED = [
  'CONFERMATA', 'CONFERMATO', 'CONFIRMED', 'OK', 'ACCEPTED', 'ACCETTATA', 'PAST GUEST', 'OSPITE PASSATO',
  'CURRENTLY HOSTING', 'ARRIVING TODAY', 'ARRIVING SOON', 'CHECKING OUT TODAY', 'UPCOMING'
]

/** The state that a text names. Undefined for any other text. */
export function stateOf (text: string): 'confermata' | 'annullata' | 'non_presentato' | undefined {
  const key = searchKey(text.replaceAll('_', ' '))
  if (/^(NO ?SHOW|NON PRESENTAT)/.test(key)) return 'non_presentato'
  if (/^(ANNULLAT|CANCEL)/.test(key)) return 'annullata'
  return CONFIRMED.includes(key) ? 'confermata' : undefined
}
