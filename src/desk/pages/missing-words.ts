import { SCHEDINA_FIELDS, type Segnalazione } from '#schemas/schedina.ts'
import { fill } from '#src/identity/index.ts'
import type { Frame } from './desk-page.ts'
import { missingTexts } from './texts/missing-texts.ts'

/** A text with a number, in the singular or plural. */
export function counted (count: number, one: string, many: string): string {
  return fill(count === 1 ? one : many, count)
}

/** The number of guests in words: `2 ospiti`. */
export function guestCount ({ texts }: Pick<Frame, 'texts'>, count: number): string {
  return counted(count, texts.guestsOne, texts.guestsMany)
}

/** The number of nights in words: `1 notte`. */
export function nightCount ({ texts }: Pick<Frame, 'texts'>, count: number): string {
  return counted(count, texts.nightsOne, texts.nightsMany)
}

/** A booking with the remarks of the police rules. */
interface Judged { isIncomplete: boolean, guests: number, errors: readonly Segnalazione[] }

/** The police rules use this word when a value is missing. */
const MISSING = /obbligatori/
const UNSAVED = /^\d+ ospit\p{L}+ salvat/u

/** Whether a remark of the rules only says that a value is missing. */
export function isMissing ({ messaggio }: Pick<Segnalazione, 'messaggio'>): boolean {
  return MISSING.test(messaggio)
}

/** Says in short what a booking lacks, one text for each field: `manca il luogo di nascita di 1 ospite`. */
export function missingWords ({ language }: Pick<Frame, 'language'>, booking: Judged): string[] {
  const texts = missingTexts[language]
  return [...Map.groupBy(booking.errors, ({ campo }) => campo)].map(([campo, remarks]) => {
    const { ospite, messaggio } = remarks[0]!
    if (UNSAVED.test(messaggio)) return counted(booking.guests - ospite, texts.dataOne, texts.dataMany)
    if (campo === 'id_appartamento') return texts.apartment
    const field = booking.isIncomplete ? SCHEDINA_FIELDS.find((name) => name === campo) : undefined
    if (field === undefined) return inShort(messaggio)
    const guests = new Set(remarks.map((remark) => remark.ospite)).size
    return fill(
      remarks.every(isMissing) ? texts.missing : texts.check,
      `${texts[field]} ${counted(guests, texts.ofOne, texts.ofMany)}`
    )
  })
}

/** A remark without its advice, which is about the API. */
function inShort (messaggio: string): string {
  return messaggio.split(/(?<=\p{L})\. (?=\p{Lu})|: (?=inviare |scaricare |la prenotazione va |per comunicare )/u, 1)[0]!
}
