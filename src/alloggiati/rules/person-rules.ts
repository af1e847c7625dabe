import { LAYOUT } from '../codec/layout.ts'
import { ageInYears, type Day } from '#src/lib/time.ts'
import type { Caso } from './case.ts'
import { CON_DOCUMENTO } from './fields.ts'
import type { Rule } from './rule.ts'

const UNUSUAL_AGE = 100
const FULL_AGE = 18

/** Rules about who the guest is. */
export const PERSON_RULES: readonly Rule[] = [
  ...nameRules('cognome', 'Il cognome'),
  ...nameRules('nome', 'Il nome'),
  {
    id: 'sesso-mancante',
    campo: 'sesso',
    per: 'tutti',
    gravita: 'error',
    messaggio: 'Il sesso è obbligatorio',
    fonte: 'Tracciato, campo 6',
    trova: ({ campi }) => campi.sesso === ''
  },
  {
    id: 'sesso-non-valido',
    campo: 'sesso',
    per: 'tutti',
    gravita: 'error',
    messaggio: 'Il sesso deve essere M o F',
    fonte: 'Tracciato, campo 6',
    trova: ({ campi }) => campi.sesso !== '' && !isSex(campi.sesso)
  },
  {
    id: 'nascita-mancante',
    campo: 'data_nascita',
    per: 'tutti',
    gravita: 'error',
    messaggio: 'La data di nascita è obbligatoria',
    fonte: 'Tracciato, campo 7',
    trova: ({ campi }) => campi.data_nascita === ''
  },
  {
    id: 'nascita-non-valida',
    campo: 'data_nascita',
    per: 'tutti',
    gravita: 'error',
    messaggio: 'La data di nascita deve essere un giorno che esiste, nella forma AAAA-MM-GG',
    fonte: 'Tracciato, campo 7; errore del servizio «Data di Nascita Errata»',
    trova: ({ campi, natoIl }) => campi.data_nascita !== '' && natoIl === undefined
  },
  {
    id: 'nascita-futura',
    campo: 'data_nascita',
    per: 'tutti',
    gravita: 'error',
    messaggio: 'La data di nascita è nel futuro',
    fonte: 'Errore del servizio «Data di Nascita non valida»',
    trova: ({ natoIl, oggi }) => natoIl !== undefined && natoIl > oggi
  },
  {
    id: 'nascita-dopo-arrivo',
    campo: 'data_nascita',
    per: 'tutti',
    gravita: 'error',
    messaggio: "La data di nascita è successiva all'arrivo",
    fonte: 'Errore del servizio «Data di Nascita non valida»',
    trova: ({ natoIl, oggi, soggiorno: { giorno } }) =>
      natoIl !== undefined && natoIl <= oggi && giorno !== undefined && natoIl > giorno
  },
  {
    id: 'eta-insolita',
    campo: 'data_nascita',
    per: 'tutti',
    gravita: 'warning',
    messaggio: "L'età risulta di {anni} anni: controllare la data di nascita",
    fonte: 'Nostra: errore di battitura probabile',
    trova: (caso) => ageOf(caso) > UNUSUAL_AGE && { anni: ageOf(caso) }
  },
  {
    id: 'responsabile-minorenne',
    campo: 'data_nascita',
    per: CON_DOCUMENTO,
    gravita: 'warning',
    messaggio: "L'ospite è minorenne ({anni} anni): di norma è un familiare o un membro di un gruppo",
    fonte: 'Nostra: chi è registrato da solo o a capo di altri di norma è maggiorenne',
    trova: (caso) => ageOf(caso) >= 0 && ageOf(caso) < FULL_AGE && { anni: ageOf(caso) }
  }
]

/** The two sexes that the record can carry. */
export function isSex (value: string): value is 'M' | 'F' {
  return value === 'M' || value === 'F'
}

/** Years of age at the arrival (today while that is not known); -1 without a birth date before it. */
function ageOf ({ natoIl, oggi, soggiorno: { giorno } }: Caso): number {
  const on: Day = giorno ?? oggi
  return natoIl !== undefined && natoIl <= on ? ageInYears(natoIl, on) : -1
}

/** The rules of a name, with the width that the layout gives it. */
function nameRules (campo: 'cognome' | 'nome', soggetto: string): Rule[] {
  const { length = 0, source = '' } = LAYOUT.find(({ name }) => name === campo) ?? {}
  const fonte = `Tracciato, campo ${source}`
  return [
    {
      id: `${campo}-mancante`,
      campo,
      per: 'tutti',
      gravita: 'error',
      messaggio: `${soggetto} è obbligatorio`,
      fonte,
      trova: (caso) => caso[campo].refused === '' && !/[A-Z]/.test(caso[campo].text)
    },
    {
      id: `${campo}-caratteri`,
      campo,
      per: 'tutti',
      gravita: 'error',
      messaggio: `${soggetto} contiene caratteri non ammessi: {caratteri}. Usare la grafia latina della zona a lettura ottica del documento`,
      fonte: `Errore del servizio «${campo === 'nome' ? 'Nome' : 'Cognome'} con caratteri non validi»`,
      trova: (caso) => caso[campo].refused !== '' && { caratteri: [...caso[campo].refused].join(' ') }
    },
    {
      id: `${campo}-lungo`,
      campo,
      per: 'tutti',
      gravita: 'error',
      messaggio: `${soggetto} ha {lunghezza} caratteri: il massimo è ${length}`,
      fonte,
      trova: (caso) =>
        caso[campo].refused === '' && caso[campo].text.length > length && { lunghezza: caso[campo].text.length }
    },
    {
      id: `${campo}-adattato`,
      campo,
      per: 'tutti',
      gravita: 'warning',
      messaggio: `${soggetto} viene comunicato come «{adattato}»`,
      fonte: 'Il servizio accetta solo lettere A-Z, spazi e apostrofi',
      trova: (caso) => caso[campo].refused === '' && caso[campo].changed && { adattato: caso[campo].text }
    }
  ]
}
