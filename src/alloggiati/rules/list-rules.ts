import { CON_DOCUMENTO, SENZA_DOCUMENTO } from './fields.ts'
import type { Rule } from './rule.ts'

const TIPI: readonly string[] = [...CON_DOCUMENTO, ...SENZA_DOCUMENTO]

/** Rules about guest types and the order of the list. */
export const LIST_RULES: readonly Rule[] = [
  {
    id: 'tipo-mancante',
    campo: 'tipo_alloggiato',
    per: 'tutti',
    gravita: 'error',
    messaggio: 'Il tipo di alloggiato è obbligatorio',
    fonte: 'Tracciato, campo 1',
    trova: ({ campi }) => campi.tipo_alloggiato === ''
  },
  {
    id: 'tipo-sconosciuto',
    campo: 'tipo_alloggiato',
    per: 'tutti',
    gravita: 'error',
    messaggio:
      'Il tipo di alloggiato {codice} non esiste: 16 ospite singolo, 17 capo famiglia, 18 capo gruppo, 19 familiare, 20 membro gruppo',
    fonte: 'Tabella Tipi_Alloggiato',
    trova: ({ campi: { tipo_alloggiato: codice } }) => codice !== '' && !TIPI.includes(codice) && { codice }
  },
  {
    id: 'familiare-senza-capo',
    campo: 'tipo_alloggiato',
    per: ['19'],
    gravita: 'error',
    messaggio: 'Il familiare (19) deve seguire subito il suo capo famiglia (17) o un altro suo familiare',
    fonte: 'Guida p. 33; errore del servizio «Ospite con Capo Gruppo o Capo Famiglia Mancante»',
    trova: ({ indice, gruppo }) => gruppo[0] === indice
  },
  {
    id: 'membro-senza-capo',
    campo: 'tipo_alloggiato',
    per: ['20'],
    gravita: 'error',
    messaggio: 'Il membro di un gruppo (20) deve seguire subito il suo capo gruppo (18) o un altro suo membro',
    fonte: 'Guida p. 33; errore del servizio «Ospite con Capo Gruppo o Capo Famiglia Mancante»',
    trova: ({ indice, gruppo }) => gruppo[0] === indice
  },
  {
    id: 'capo-senza-membri',
    campo: 'tipo_alloggiato',
    per: ['17', '18'],
    gravita: 'error',
    messaggio:
      'Un capo famiglia o capo gruppo deve essere seguito da almeno un familiare o membro: chi è solo è un ospite singolo (16)',
    fonte: 'Guida p. 14: il capo si invia dopo avere aggiunto almeno un ospite',
    trova: ({ gruppo }) => gruppo.length === 1
  },
  {
    id: 'gruppo-troppo-numeroso',
    campo: 'tipo_alloggiato',
    per: ['17', '18'],
    gravita: 'error',
    messaggio: 'Il gruppo ha {righe} ospiti: il massimo per un invio è {massimo}, e un gruppo non si può dividere',
    fonte: 'Guida p. 31 (1000 righe) e p. 33 (righe successive)',
    trova: ({ gruppo, maxRows }) => gruppo.length > maxRows && { righe: gruppo.length, massimo: maxRows }
  },
  {
    id: 'ospite-ripetuto',
    campo: 'cognome',
    per: 'tutti',
    gravita: 'error',
    messaggio:
      "Lo stesso ospite compare due volte nell'elenco (ospite {numero}, con lo stesso nome e la stessa data di nascita)",
    fonte: 'Nostra: una schedina inviata non si può ritirare',
    trova: ({ ripete }) => ripete !== undefined && { numero: ripete + 1 }
  }
]
