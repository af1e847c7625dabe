import { WITH_DOCUMENT } from '#schemas/guest-types.ts'
import { addDays, ageInYears, type Day } from '#src/lib/time.ts'
import { FIELDS } from '../codec/layout.ts'
import type { GuestCase } from './case.ts'
import { describeCharacters } from './confusable-letters.ts'
import type { Rule } from './rule.ts'

const UNUSUAL_AGE = 100
/** The highest recorded age is 122. */
const IMPOSSIBLE_AGE = 130
const FULL_AGE = 18
const LETTER = /[A-Z]/
/** The layout requires both names, and no manual covers a person with one name. */
const SINGLE_NAME =
  '. Chi ha un nome solo si registra come nella zona a lettura ottica (MRZ) del documento; ' +
  'se lì un campo è vuoto, chiedere alla Questura che cosa indicare'

/** Rules about the guest's identity. */
export const PERSON_RULES: readonly Rule[] = [
  ...nameRules('cognome', 'Il cognome'),
  ...nameRules('nome', 'Il nome'),
  {
    id: 'sesso-mancante',
    field: 'sesso',
    message: 'Il sesso è obbligatorio',
    source: 'Tracciato, campo 6',
    applies: ({ fields }) => fields.sesso === ''
  },
  {
    id: 'sesso-non-valido',
    field: 'sesso',
    message: 'Il sesso deve essere M o F',
    source: 'Tracciato, campo 6',
    applies: ({ fields, sex }) => fields.sesso !== '' && sex === undefined
  },
  {
    id: 'nascita-mancante',
    field: 'data_nascita',
    message: 'La data di nascita è obbligatoria',
    source: 'Tracciato, campo 7',
    applies: ({ fields }) => fields.data_nascita === ''
  },
  {
    id: 'nascita-non-valida',
    field: 'data_nascita',
    message: 'La data di nascita deve essere un giorno che esiste, nella forma AAAA-MM-GG',
    source: 'Tracciato, campo 7; errore del servizio «Data di Nascita Errata»',
    applies: ({ fields, born }) => fields.data_nascita !== '' && born === undefined
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
    message: "La data di nascita è successiva all'arrivo",
    source: 'Errore del servizio «Data di Nascita non valida»',
    applies: ({ born, today, stay: { arrival } }) =>
      born !== undefined && born <= today && arrival !== undefined && born > arrival
  },
  {
    id: 'nascita-impossibile',
    field: 'data_nascita',
    message: `La data di nascita è di oltre ${IMPOSSIBLE_AGE} anni prima dell'arrivo: controllare l'anno`,
    source: 'Nostra: errore di battitura certo',
    applies: isImpossiblyOld
  },
  {
    id: 'eta-insolita',
    field: 'data_nascita',
    severity: 'warning',
    message: "L'età risulta di {anni} anni: controllare la data di nascita",
    source: 'Nostra: errore di battitura probabile',
    applies: (guest) => ageOf(guest) > UNUSUAL_AGE && !isImpossiblyOld(guest) && { anni: ageOf(guest) }
  },
  {
    id: 'responsabile-minorenne',
    field: 'data_nascita',
    concerns: WITH_DOCUMENT,
    severity: 'warning',
    message: "L'ospite è minorenne ({anni} anni): di norma è un familiare o un membro di un gruppo",
    source: 'Nostra: chi è registrato da solo o a capo di altri di norma è maggiorenne',
    applies: (guest) => ageOf(guest) >= 0 && ageOf(guest) < FULL_AGE && { anni: ageOf(guest) }
  }
]

/** Whether the guest would be older than `IMPOSSIBLE_AGE` at the arrival. */
function isImpossiblyOld (guest: GuestCase): boolean {
  return ageOf(guest) >= IMPOSSIBLE_AGE && ageOf({ ...guest, born: addDays(guest.born!, 1) }) >= IMPOSSIBLE_AGE
}

/** Age in years at the arrival (today if unknown); -1 if the birth date is missing or later. */
function ageOf ({ born, today, stay: { arrival } }: GuestCase): number {
  const on: Day = arrival ?? today
  return born !== undefined && born <= on ? ageInYears(born, on) : -1
}

/** The rules of a name, with its maximum length by the layout. */
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
        !LETTER.test(guest[field].text) && { consiglio: LETTER.test(guest[other].text) ? SINGLE_NAME : '' }
    },
    {
      id: `${field}-caratteri`,
      field,
      message: `${subject} contiene caratteri non ammessi: {caratteri}. ` +
        'Usare la grafia latina della zona a lettura ottica del documento',
      source: `Errore del servizio «${field === 'nome' ? 'Nome' : 'Cognome'} con caratteri non validi»`,
      applies: (guest) => guest[field].refused !== '' && { caratteri: describeCharacters(guest[field].refused) }
    },
    {
      id: `${field}-lungo`,
      field,
      message: `${subject} ha {lunghezza} caratteri: il massimo è ${length}`,
      source,
      applies: (guest) =>
        guest[field].refused === '' && guest[field].text.length > length && { lunghezza: guest[field].text.length }
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
