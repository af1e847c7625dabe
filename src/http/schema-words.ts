import { MintQuery } from '#schemas/api-key.ts'
import { CalendarQuery } from '#schemas/booking.ts'
import { QueryInstant, Text } from '#schemas/common.ts'
import { DecisionBody, Motivo } from '#schemas/decisions.ts'
import { EmailQuery, EmailRequest } from '#schemas/email.ts'
import { Name } from '#schemas/guest.ts'
import { ApartmentBody } from '#schemas/apartment.ts'
import { Paragraphs } from '#schemas/paragraphs.ts'
import { TemplateText } from '#schemas/report.ts'
import { NOT_BASE64 } from '#src/services/images/image-text.ts'
import { readDay } from '#src/lib/time.ts'

/* The error texts for every `pattern` and `format` of the schemas under `/api/`. A test finds missing ones. */

interface Words {
  words: string
  /** Whether the error may repeat the value, because it is a short code and no personal data. */
  isCode?: true
}

const code = (words: string): Words => ({ words, isCode: true })

const CONTROL = 'non può contenere a capo, tabulazioni e altri caratteri invisibili'
const INSTANT = 'deve essere un istante, per esempio 2026-11-30T09:30:00Z'

const DAY = 'scrivere la data come AAAA-MM-GG, per esempio 2026-11-30'
const BIRTH = `deve essere un giorno del calendario: ${DAY}, con 00 per il giorno e il mese che il documento non indica`

const PATTERNS = new Map<string | undefined, Words>([
  [Text(1).pattern, { words: CONTROL }],
  [Name(1).pattern, { words: `deve avere un valore, e ${CONTROL}` }],
  [ApartmentBody.properties.indirizzo.pattern, { words: `deve avere un valore senza «;», e ${CONTROL}` }],
  [Motivo.pattern, { words: `deve avere almeno 10 caratteri oltre agli spazi, e ${CONTROL}` }],
  [DecisionBody.properties.protocollo.pattern, { words: `deve avere un valore, e ${CONTROL}` }],
  [TemplateText.pattern, { words: 'contiene un carattere che non si può scrivere: toglierlo' }],
  [EmailRequest.properties.body.pattern, { words: 'contiene caratteri invisibili: toglierli' }],
  [Paragraphs(1).pattern, { words: 'contiene caratteri invisibili, o una parola di oltre 1000 caratteri' }],
  [QueryInstant.pattern, code(INSTANT)],
  [CalendarQuery.properties.start.pattern, code('deve essere un giorno o un istante, per esempio 2026-11-30')],
  [MintQuery.properties.scopes.pattern,
    code('deve elencare ambiti separati da virgole, per esempio lettura,scrittura')],
  [EmailQuery.properties.ids.pattern, code('deve elencare fino a 100 numeri separati da virgole, per esempio 12,13')],
  ['^[A-Z]{2}$', code('deve essere di due lettere, per esempio IT')],
  ['^[A-Za-z]{2}$', code('deve essere di due lettere, per esempio IT')],
  ['^[A-Z]{3}$', code('deve essere di tre lettere, per esempio EUR')],
  ['^[A-Za-z]{3}$', code('deve essere di tre lettere, per esempio EUR')],
  ['^([A-Z]{3})?$', code('deve essere di tre lettere, per esempio ITA')],
  ['^([A-Z]{1,2})?$', code('deve essere di una o due lettere, per esempio P')],
  ['^([A-Z][A-Z0-9]?)?$', code('deve essere di una lettera, o di due caratteri, per esempio P o C1')],
  ['^([A-Z]{3}|\\d{9})?$', code('deve essere di tre lettere, per esempio ITA, o il codice di nove cifre')],
  ['^[0-9]{6}$', code('deve essere il codice ISTAT di sei cifre di un comune, per esempio 058091')],
  ['^\\d{9}$', code('deve essere il codice di nove cifre di un comune, per esempio 412058091')],
  ['^([01]\\d|2[0-3]):[0-5]\\d$', code('deve essere un’ora con i minuti, per esempio 10:30')],
  ['^#[0-9A-Fa-f]{6}$', code('deve essere un colore di sei cifre esadecimali, per esempio #1f4e46')],
  ['^[a-z0-9_.-]{1,64}$',
    code('può avere solo lettere minuscole, cifre, punti e trattini, per esempio check_in_online')],
  ['^[a-z0-9-]{1,40}$', code('può avere solo lettere minuscole, cifre e trattini, per esempio receipts')],
  ['^[A-Za-z0-9-]{1,100}$', code('può avere solo lettere, cifre e trattini, al massimo 100')],
  ['^[A-Za-z0-9_-]+$', { words: 'non viene da una pagina precedente: copiarlo dall’indirizzo in Link' }],
  ['^[0-9a-f]{16}$', { words: 'deve essere di 16 cifre esadecimali: copiarlo dall’elenco' }],
  ['^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$', code('deve essere un UUID: copiarlo dall’elenco')],
  ['^[^\\u0000]*$', { words: 'contiene un carattere che non si può scrivere: toglierlo' }]
])

const FORMATS: Readonly<Record<string, Words>> = {
  day: code(`deve essere un giorno del calendario: ${DAY}`),
  'day-or-empty': code(`deve essere un giorno del calendario: ${DAY}`),
  birth: code(BIRTH),
  'birth-or-empty': code(BIRTH),
  byte: { words: NOT_BASE64 },
  'date-time': code(INSTANT),
  email: { words: 'deve essere un indirizzo e-mail, per esempio anna@example.com' },
  uri: { words: 'deve essere un indirizzo, per esempio https://example.com' }
}

/** Maximum length of a value that an error repeats. */
const SHOWN_MAX = 30
const SECRET = /pass|token|secret|segreto|image|cursor|apikey|wskey/i

/** The error text for a value that does not match a `pattern`. Undefined if the table has no entry. */
export function patternWords (pattern: string): Words | undefined {
  return PATTERNS.get(pattern)
}

/** The error text for a value that does not match a `format`. Undefined if the table has no entry. */
export function formatWords (format: string): Words | undefined {
  return FORMATS[format]
}

/** Appends the received value, if it is short and not secret. */
export function withReceived (words: string, campo: string, value: unknown): string {
  const isShown = typeof value === 'string' && value.length <= SHOWN_MAX && value.trim() !== '' && !SECRET.test(campo)
  return isShown && !/\p{C}/u.test(value) ? `${words} (ricevuto «${value}»)` : words
}

/** The received value as an addition to an error about its type or its bounds. */
export function receivedOfType (campo: string, value: unknown): string {
  if (Array.isArray(value)) return ' (ricevuto un elenco)'
  if (typeof value === 'object') return ' (ricevuto un oggetto)'
  const isText = typeof value === 'string'
  if (withReceived('', campo, String(value)) === '') return ` (ricevuto un ${isText ? 'testo' : 'altro tipo'})`
  return isText ? ` (ricevuto il testo «${value}»)` : ` (ricevuto ${String(value)})`
}

/** The error text for a day in another notation. Undefined for any other text. */
export function dayWords (text: unknown): Words | undefined {
  const day = typeof text === 'string' ? readDay(text) : undefined
  return day === undefined ? undefined : code(`deve essere un giorno: scrivere la data come ${day}`)
}
