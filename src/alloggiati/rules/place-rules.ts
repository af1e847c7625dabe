import { inForce, italianDay } from '../tables/days.ts'
import type { Caso } from './case.ts'
import { ITALIA } from './fields.ts'
import type { Rule, Valori } from './rule.ts'

/** Rules about birth and citizenship. Comune and province go with the birth state, never with the citizenship. */
export const PLACE_RULES: readonly Rule[] = [
  {
    id: 'stato-nascita-mancante',
    campo: 'stato_nascita',
    per: 'tutti',
    gravita: 'error',
    messaggio: "Lo stato di nascita è obbligatorio (per l'Italia 100000100)",
    fonte: 'Tracciato, campo 10',
    trova: ({ nascita }) => nascita.codiceStato === ''
  },
  {
    id: 'stato-nascita-sconosciuto',
    campo: 'stato_nascita',
    per: 'tutti',
    gravita: 'error',
    messaggio: 'Lo stato di nascita {codice} non è nella tabella degli stati',
    fonte: 'Tabella Luoghi',
    trova: ({ nascita: { codiceStato, stato } }) => codiceStato !== '' && stato === undefined && { codice: codiceStato }
  },
  {
    id: 'stato-nascita-cessato',
    campo: 'stato_nascita',
    per: 'tutti',
    gravita: 'error',
    messaggio: 'Lo stato di nascita {nome} è cessato il {data}, prima della data di nascita: indicare lo stato di oggi',
    fonte: 'Tabella Luoghi, DataFineVal; guida p. 9: i luoghi cessati valgono per la nascita',
    trova: ({ nascita: { stato }, natoIl }) => stato !== undefined && natoIl !== undefined && ended(stato, natoIl)
  },
  {
    id: 'comune-mancante',
    campo: 'comune_nascita',
    per: 'tutti',
    gravita: 'error',
    messaggio: 'Il comune di nascita è obbligatorio per chi è nato in Italia',
    fonte: 'Tracciato, campo 8',
    trova: (caso) => bornInItaly(caso) && caso.nascita.comune.esito === 'assente'
  },
  {
    id: 'comune-sconosciuto',
    campo: 'comune_nascita',
    per: 'tutti',
    gravita: 'error',
    messaggio: 'Il comune di nascita {codice} non è nella tabella dei comuni italiani',
    fonte: 'Tabella Luoghi',
    trova: ({ nascita: { comune }, campi }) => comune.esito === 'sconosciuto' && { codice: campi.comune_nascita }
  },
  {
    id: 'comune-ambiguo',
    campo: 'comune_nascita',
    per: 'tutti',
    gravita: 'error',
    messaggio: 'Il codice {codice} del comune di nascita ne indica più di uno: scegliere tra {candidati}',
    fonte: 'Tabella Luoghi: i codici brevi si cercano, non si calcolano',
    trova: ({ nascita: { comune }, campi }) =>
      comune.esito === 'ambiguo' && {
        codice: campi.comune_nascita,
        candidati: comune.candidati
          .map(({ codice, descrizione, provincia }) => `${codice} ${descrizione} (${provincia})`)
          .join(', ')
      }
  },
  {
    id: 'comune-cessato',
    campo: 'comune_nascita',
    per: 'tutti',
    gravita: 'error',
    messaggio:
      'Il comune di nascita {nome} ({provincia}) è cessato con questo codice il {data}, prima della data di nascita',
    fonte: 'Tabella Luoghi, DataFineVal; guida p. 9',
    trova: ({ nascita: { comune }, natoIl }) =>
      comune.esito === 'cessato' && natoIl !== undefined && ended(comune.comune, natoIl)
  },
  {
    id: 'comune-estero',
    campo: 'comune_nascita',
    per: 'tutti',
    gravita: 'error',
    messaggio:
      'Chi è nato in {nome} non ha un comune di nascita italiano: lasciarlo vuoto o ripetere lo stato {codice}',
    fonte: 'Tracciato, campo 8: solo se nato in Italia',
    trova: ({ nascita: { stato, comune } }) =>
      comune.esito === 'estraneo' && stato !== undefined && { nome: stato.descrizione, codice: stato.codice }
  },
  {
    id: 'provincia-mancante',
    campo: 'provincia_nascita',
    per: 'tutti',
    gravita: 'error',
    messaggio: 'La provincia di nascita è obbligatoria per chi è nato in Italia',
    fonte: 'Tracciato, campo 9',
    trova: (caso) => bornInItaly(caso) && caso.campi.provincia_nascita === ''
  },
  {
    id: 'provincia-sconosciuta',
    campo: 'provincia_nascita',
    per: 'tutti',
    gravita: 'error',
    messaggio: 'La provincia di nascita {sigla} non esiste: usare la sigla di due lettere (Roma: RM)',
    fonte: 'Tracciato, campo 9; tabella Luoghi',
    trova: (caso) =>
      bornInItaly(caso) &&
      caso.campi.provincia_nascita !== '' &&
      caso.tables.provincia(caso.campi.provincia_nascita) === undefined && { sigla: caso.campi.provincia_nascita }
  },
  {
    id: 'provincia-discordante',
    campo: 'provincia_nascita',
    per: 'tutti',
    gravita: 'error',
    messaggio: 'La provincia di nascita {sigla} non è quella del comune: {nome} è in provincia di {provincia}',
    fonte: 'Tabella Luoghi',
    trova: ({ nascita: { comune }, campi: { provincia_nascita: sigla }, tables }) =>
      comune.esito === 'trovato' &&
      tables.provincia(sigla) !== undefined &&
      sigla !== comune.comune.provincia && {
        sigla,
        nome: comune.comune.descrizione,
        provincia: comune.comune.provincia
      }
  },
  {
    id: 'provincia-estero',
    campo: 'provincia_nascita',
    per: 'tutti',
    gravita: 'error',
    messaggio:
      'La provincia di nascita va indicata solo per chi è nato in Italia: per chi è nato in {nome} deve essere vuota',
    fonte: 'Tracciato, campo 9: solo se nato in Italia',
    trova: (caso) =>
      caso.nascita.stato !== undefined &&
      !bornInItaly(caso) &&
      caso.campi.provincia_nascita !== '' && { nome: caso.nascita.stato.descrizione }
  },
  {
    id: 'cittadinanza-mancante',
    campo: 'cittadinanza',
    per: 'tutti',
    gravita: 'error',
    messaggio: 'La cittadinanza è obbligatoria',
    fonte: 'Tracciato, campo 11',
    trova: ({ campi }) => campi.cittadinanza === ''
  },
  {
    id: 'cittadinanza-sconosciuta',
    campo: 'cittadinanza',
    per: 'tutti',
    gravita: 'error',
    messaggio: 'La cittadinanza {codice} non è nella tabella degli stati',
    fonte: 'Tabella Luoghi',
    trova: ({ campi: { cittadinanza: codice }, tables }) =>
      codice !== '' && tables.stato(codice) === undefined && { codice }
  },
  {
    id: 'cittadinanza-cessata',
    campo: 'cittadinanza',
    per: 'tutti',
    gravita: 'error',
    messaggio: 'La cittadinanza {nome} non esiste più dal {data}: indicare quella di oggi',
    fonte: 'Tabella Luoghi, DataFineVal',
    trova: ({ campi, tables, oggi }) => ended(tables.stato(campi.cittadinanza), oggi)
  }
]

function bornInItaly ({ nascita }: Caso): boolean {
  return nascita.codiceStato === ITALIA
}

/** What to say of a place that was no longer in force on `day`; false when it was. */
function ended (
  luogo: { descrizione: string; cessato_il: string | null; provincia?: string } | undefined,
  day: string
): false | Valori {
  if (luogo === undefined || luogo.cessato_il === null || inForce(luogo, day)) return false
  return { nome: luogo.descrizione, provincia: luogo.provincia ?? '', data: italianDay(luogo.cessato_il) }
}
