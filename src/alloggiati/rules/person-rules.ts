import { WITH_DOCUMENT } from '#schemas/guest-types.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { sexOf } from '#src/lib/sex-words.ts'
import { addDays, ageInYears, firstDayOf, type Day } from '#src/lib/time.ts'
import { ENCODING_DOUBT, probably } from '#src/lib/wrong-encoding.ts'
import { FIELDS } from '../codec/layout.ts'
import type { GuestCase } from './case.ts'
import { describeCharacters } from './confusable-letters.ts'
import { dayAdvice, type Rule, type Values } from './rule.ts'

const UNUSUAL_AGE = 100
/** The highest recorded age is 122. */
const IMPOSSIBLE_AGE = 130
const FULL_AGE = 18
const LETTER = /[A-Z]/
/** The layout requires both names, a sex and a complete date. No manual covers documents that lack them. */
const singleName = (name: string) =>
  `. Se il documento ha un nome solo, di norma lo si ripete: indicare «${name}» anche qui. ` +
  'Nel dubbio chiedere alla Questura'
const ONLY_M_OR_F =
  '. Se il documento non lo indica, o indica X, scegliere M o F da un altro documento o chiedendo all’ospite'
const birthAdvice = (text: string): Values => {
  const first = firstDayOf(text)
  if (first === undefined) return dayAdvice(text)
  const consiglio = 'è incompleta. Se nessun documento indica il giorno o il mese, di norma si comunica il primo: ' +
    `indicare ${first}`
  return { valore: text, consiglio, proposta: first }
}

/** Rules about the guest's identity. */
export const PERSON_RULES: readonly Rule[] = [
  ...nameRules('cognome', 'Il cognome'),
  ...nameRules('nome', 'Il nome'),
  {
    id: 'sesso-mancante',
    field: 'sesso',
    message: `Il sesso è obbligatorio${ONLY_M_OR_F}`,
    source: 'Tracciato, campo 6',
    applies: ({ fields }) => fields.sesso === ''
  },
  {
    id: 'sesso-non-valido',
    field: 'sesso',
    message: 'Il sesso «{valore}» deve essere M o F{consiglio}',
    source: 'Tracciato, campo 6',
    applies: ({ fields: { sesso }, sex }) => {
      if (sesso === '' || sex !== undefined) return false
      const proposta = sexOf(sesso)
      return { valore: sesso.slice(0, 10), consiglio: proposta ? `: indicare ${proposta}` : ONLY_M_OR_F, proposta }
    }
  },
  {
    id: 'nascita-mancante',
    field: 'data_nascita',
    message: 'La data di nascita è obbligatoria. Se il documento indica solo l’anno, di norma si comunica il primo ' +
      'gennaio; se indica solo mese e anno, il primo del mese',
    source: 'Tracciato, campo 7',
    applies: ({ fields }) => fields.data_nascita === ''
  },
  {
    id: 'nascita-non-valida',
    field: 'data_nascita',
    message: 'La data di nascita «{valore}» {consiglio}',
    source: 'Tracciato, campo 7; errore del servizio «Data di Nascita Errata»',
    applies: ({ fields: { data_nascita }, born }) =>
      data_nascita !== '' && born === undefined && birthAdvice(data_nascita)
  },
  {
    id: 'nascita-futura',
    field: 'data_nascita',
    message: 'La data di nascita è nel futuro',
    source: 'Errore del servizio «Data di Nascita non valida»',
    applies: ({ born, today }) => born !== undefined && born > today
  },
  {
    id: 'nascita-dopo-arrivo',
    field: 'data_nascita',
    message: 'La data di nascita è successiva all’arrivo',
    source: 'Errore del servizio «Data di Nascita non valida»',
    applies: ({ born, today, stay: { arrival } }) =>
      born !== undefined && born <= today && arrival !== undefined && born > arrival
  },
  {
    id: 'nascita-impossibile',
    field: 'data_nascita',
    message: `La data di nascita è di oltre ${IMPOSSIBLE_AGE} anni prima dell’arrivo: controllare l’anno`,
    source: 'Nostra: errore di battitura certo',
    applies: isImpossiblyOld
  },
  {
    id: 'eta-insolita',
    field: 'data_nascita',
    severity: 'warning',
    message: 'L’età risulta di {anni} anni: controllare la data di nascita',
    source: 'Nostra: errore di battitura probabile',
    applies: (guest) => ageOf(guest) > UNUSUAL_AGE && !isImpossiblyOld(guest) && { anni: ageOf(guest) }
  },
  {
    id: 'responsabile-minorenne',
    field: 'data_nascita',
    concerns: WITH_DOCUMENT,
    severity: 'warning',
    message: 'L’ospite è minorenne ({anni}): di norma è un familiare o un membro di un gruppo',
    source: 'Nostra: chi è registrato da solo o a capo di altri di norma è maggiorenne',
    applies: (guest) => isMinor(guest) && { anni: countWithNoun(ageOf(guest), 'anno', 'anni') }
  }
]

/** Whether the guest would be older than `IMPOSSIBLE_AGE` at the arrival. */
function isImpossiblyOld (guest: GuestCase): boolean {
  return ageOf(guest) >= IMPOSSIBLE_AGE && ageOf({ ...guest, born: addDays(guest.born!, 1) }) >= IMPOSSIBLE_AGE
}

export function isMinor (guest: GuestCase): boolean {
  return ageOf(guest) >= 0 && ageOf(guest) < FULL_AGE
}

/** Age in years at the arrival (today if unknown). -1 if the birth date is missing or after that day. */
function ageOf ({ born, today, stay: { arrival } }: GuestCase): number {
  const on: Day = arrival ?? today
  return born !== undefined && born <= on ? ageInYears(born, on) : -1
}

/** The first words of the text that fit. A first word that does not fit is cut. */
function wordsWithin (text: string, length: number): string {
  const cut = text.slice(0, length + 1)
  return cut.slice(0, cut.includes(' ') ? cut.lastIndexOf(' ') : length)
}

/** Rules about a name, whose maximum length comes from the layout. */
function nameRules (field: 'cognome' | 'nome', subject: string): Rule[] {
  const { length } = FIELDS[field]
  const other = field === 'nome' ? 'cognome' : 'nome'
  const source = `Tracciato, campo ${FIELDS[field].source}`
  return [
    {
      id: `${field}-mancante`,
      field,
      message: `${subject} è obbligatorio{consiglio}`,
      source,
      applies: (guest) =>
        guest[field].refused === '' &&
        !LETTER.test(guest[field].text) && {
          consiglio: LETTER.test(guest[other].text) ? singleName(guest[other].text) : ''
        }
    },
    {
      id: `${field}-caratteri`,
      field,
      message: `${subject} contiene caratteri non ammessi: {caratteri}. {forse}` +
        'Usare la grafia latina della zona a lettura ottica del documento',
      source: `Errore del servizio «${field === 'nome' ? 'Nome' : 'Cognome'} con caratteri non validi»`,
      applies: (guest) => guest[field].refused !== '' && {
        caratteri: describeCharacters(guest[field].refused),
        forse: probably(guest.fields[field])
      }
    },
    {
      id: `${field}-lungo`,
      field,
      message: `${subject} ha {lunghezza} caratteri: il massimo è ${length}. ` +
        'Indicarlo come nella zona a lettura ottica del documento, o fin dove entra: «{parte}»',
      source,
      applies: ({ [field]: { refused, text } }) =>
        refused === '' && text.length > length && { lunghezza: text.length, parte: wordsWithin(text, length) }
    },
    {
      id: `${field}-codifica`,
      field,
      severity: 'warning',
      message: `${subject} ${ENCODING_DOUBT}`,
      source: 'Nostra: UTF-8 letto come Windows-1252',
      applies: (guest) => {
        const { refused, text } = guest[field]
        const forse = refused === '' && text.length <= length && LETTER.test(text) ? probably(guest.fields[field]) : ''
        return forse !== '' && { forse }
      }
    },
    {
      id: `${field}-adattato`,
      field,
      severity: 'warning',
      message: `${subject} viene comunicato come «{adattato}»`,
      source: 'Il servizio accetta solo lettere A-Z, spazi e apostrofi',
      applies: (guest) => guest[field].refused === '' && guest[field].changed && { adattato: guest[field].text }
    }
  ]
}
