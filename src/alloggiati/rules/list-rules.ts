import { GUEST_TYPES, LEADERS } from '#schemas/guest-types.ts'
import type { Rule } from './rule.ts'

const CODES: readonly string[] = GUEST_TYPES.map(({ codice }) => codice)

/** The advice for a member who arrives later or stays longer, since a sent leader cannot be sent again. */
const ALONE =
  '. Se il suo capo è già stato comunicato o è partito, indicarlo come ospite singolo (16), con il suo documento'

/** Rules about guest types and the order of the list. */
export const LIST_RULES: readonly Rule[] = [
  {
    id: 'tipo-mancante',
    field: 'tipo_alloggiato',
    message: 'Il tipo di alloggiato è obbligatorio',
    source: 'Tracciato, campo 1',
    applies: ({ fields }) => fields.tipo_alloggiato === ''
  },
  {
    id: 'tipo-sconosciuto',
    field: 'tipo_alloggiato',
    message:
      'Il tipo di alloggiato {codice} non esiste: ' +
      GUEST_TYPES.map(({ codice, descrizione }) => `${codice} ${descrizione.toLowerCase()}`).join(', '),
    source: 'Tabella Tipi_Alloggiato',
    applies: ({ fields: { tipo_alloggiato: codice }, tables }) => {
      if (codice === '' || CODES.includes(codice)) return false
      const [type] = tables.named('tipi_alloggiato', codice)
      return { codice, ...type !== undefined && { proposta: type.codice } }
    }
  },
  {
    id: 'familiare-senza-capo',
    field: 'tipo_alloggiato',
    concerns: ['19'],
    message: `Il familiare (19) deve seguire subito il suo capo famiglia (17) o un altro suo familiare${ALONE}`,
    source: 'Guida p. 33; errore del servizio «Ospite con Capo Gruppo o Capo Famiglia Mancante»',
    applies: ({ index, leader }) => leader === index
  },
  {
    id: 'membro-senza-capo',
    field: 'tipo_alloggiato',
    concerns: ['20'],
    message: `Il membro di un gruppo (20) deve seguire subito il suo capo gruppo (18) o un altro suo membro${ALONE}`,
    source: 'Guida p. 33; errore del servizio «Ospite con Capo Gruppo o Capo Famiglia Mancante»',
    applies: ({ index, leader }) => leader === index
  },
  {
    id: 'capo-senza-membri',
    field: 'tipo_alloggiato',
    concerns: LEADERS,
    message:
      'Un capo famiglia o capo gruppo deve essere seguito da almeno un familiare o membro: ' +
      'chi è solo è un ospite singolo (16)',
    source: 'Guida p. 14: il capo si invia dopo avere aggiunto almeno un ospite',
    applies: ({ group }) => group.length === 1
  },
  {
    id: 'ospite-ripetuto',
    field: 'cognome',
    message:
      'Lo stesso ospite compare due volte nell’elenco ' +
      '(ospite {numero}, con lo stesso nome e la stessa data di nascita). ' +
      'Toglierlo: chi ha due documenti si comunica una volta sola, con uno dei due',
    source: 'Nostra: una schedina inviata non si può ritirare',
    applies: ({ repeats }) => repeats !== undefined && { numero: repeats + 1 }
  }
]
