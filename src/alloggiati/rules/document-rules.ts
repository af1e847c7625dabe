import { LAYOUT } from '../codec/layout.ts'
import { italianDay } from '../tables/days.ts'
import { unusualNumber } from './documents.ts'
import { CON_DOCUMENTO, SENZA_DOCUMENTO } from './fields.ts'
import type { Rule } from './rule.ts'

const NUMBER_LENGTH = LAYOUT.find(({ name }) => name === 'num_doc')?.length ?? 0

/** Rules about the identity document, which single guests and leaders bring. */
export const DOCUMENT_RULES: readonly Rule[] = [
  {
    id: 'tipo-documento-mancante',
    campo: 'tipo_documento',
    per: CON_DOCUMENTO,
    gravita: 'error',
    messaggio: 'Il tipo di documento è obbligatorio per ospite singolo, capo famiglia e capo gruppo',
    fonte: 'Tracciato, campo 12',
    trova: ({ campi }) => campi.tipo_documento === ''
  },
  {
    id: 'tipo-documento-sconosciuto',
    campo: 'tipo_documento',
    per: CON_DOCUMENTO,
    gravita: 'error',
    messaggio: 'Il tipo di documento {codice} non è nella tabella dei documenti',
    fonte: 'Tabella Tipi_Documento',
    trova: ({ campi: { tipo_documento: codice }, tables }) =>
      codice !== '' && tables.documento(codice) === undefined && { codice }
  },
  {
    id: 'numero-documento-mancante',
    campo: 'numero_documento',
    per: CON_DOCUMENTO,
    gravita: 'error',
    messaggio: 'Il numero di documento è obbligatorio per ospite singolo, capo famiglia e capo gruppo',
    fonte: 'Tracciato, campo 13',
    trova: ({ numero }) => numero.refused === '' && numero.text === ''
  },
  {
    id: 'numero-documento-caratteri',
    campo: 'numero_documento',
    per: CON_DOCUMENTO,
    gravita: 'error',
    messaggio: 'Il numero di documento contiene caratteri non ammessi: {caratteri}',
    fonte: 'Errore del servizio «Numero Documento con caratteri non validi»',
    trova: ({ numero }) => numero.refused !== '' && { caratteri: [...numero.refused].join(' ') }
  },
  {
    id: 'numero-documento-lungo',
    campo: 'numero_documento',
    per: CON_DOCUMENTO,
    gravita: 'error',
    messaggio: `Il numero di documento ha {lunghezza} caratteri: il massimo è ${NUMBER_LENGTH}`,
    fonte: 'Tracciato, campo 13',
    trova: ({ numero }) =>
      numero.refused === '' && numero.text.length > NUMBER_LENGTH && { lunghezza: numero.text.length }
  },
  {
    id: 'numero-documento-insolito',
    campo: 'numero_documento',
    per: CON_DOCUMENTO,
    gravita: 'warning',
    messaggio: 'Il numero di documento non ha la forma consueta per {tipo} ({attesa}): controllarlo',
    fonte: 'Nostra: forme note dei documenti (documents.ts)',
    trova: ({ campi, numero, rilascio, tables }) => {
      const tipo = tables.documento(campi.tipo_documento)
      if (tipo === undefined || numero.refused !== '' || numero.text === '') return false
      const italian = rilascio.esito === 'trovato' || rilascio.esito === 'italia'
      const attesa = unusualNumber(tipo.codice, numero.text, italian)
      return attesa !== undefined && { tipo: tipo.descrizione, attesa }
    }
  },
  {
    id: 'rilascio-mancante',
    campo: 'luogo_rilascio',
    per: CON_DOCUMENTO,
    gravita: 'error',
    messaggio: 'Il luogo di rilascio del documento è obbligatorio per ospite singolo, capo famiglia e capo gruppo',
    fonte: 'Tracciato, campo 14',
    trova: ({ rilascio }) => rilascio.esito === 'assente'
  },
  {
    id: 'rilascio-sconosciuto',
    campo: 'luogo_rilascio',
    per: CON_DOCUMENTO,
    gravita: 'error',
    messaggio: 'Il luogo di rilascio {codice} non è né un comune italiano né uno stato della tabella',
    fonte: 'Tabella Luoghi',
    trova: ({ rilascio, campi }) => rilascio.esito === 'sconosciuto' && { codice: campi.luogo_rilascio }
  },
  {
    id: 'rilascio-ambiguo',
    campo: 'luogo_rilascio',
    per: CON_DOCUMENTO,
    gravita: 'error',
    messaggio: 'Il codice {codice} del luogo di rilascio indica più di un comune: scegliere tra {candidati}',
    fonte: 'Tabella Luoghi: i codici brevi si cercano, non si calcolano',
    trova: ({ rilascio, campi }) =>
      rilascio.esito === 'ambiguo' && {
        codice: campi.luogo_rilascio,
        candidati: rilascio.candidati
          .map(({ codice, descrizione, provincia }) => `${codice} ${descrizione} (${provincia})`)
          .join(', ')
      }
  },
  {
    id: 'rilascio-cessato',
    campo: 'luogo_rilascio',
    per: CON_DOCUMENTO,
    gravita: 'error',
    messaggio: 'Il luogo di rilascio {nome} è cessato il {data}: indicare il comune o lo stato di oggi',
    fonte: 'Guida p. 9: i luoghi cessati valgono solo per la nascita',
    trova: ({ rilascio }) => {
      if (rilascio.esito !== 'cessato' && rilascio.esito !== 'stato-cessato') return false
      const luogo = rilascio.esito === 'cessato' ? rilascio.comune : rilascio.stato
      return { nome: luogo.descrizione, data: italianDay(luogo.cessato_il ?? '') }
    }
  },
  {
    id: 'rilascio-italia',
    campo: 'luogo_rilascio',
    per: CON_DOCUMENTO,
    gravita: 'error',
    messaggio: 'Per un documento rilasciato in Italia il luogo di rilascio è il codice del comune',
    fonte: 'Tracciato, campo 14: comune se rilasciato in Italia, altrimenti stato',
    trova: ({ rilascio }) => rilascio.esito === 'italia'
  },
  {
    id: 'documento-superfluo',
    campo: 'tipo_documento',
    per: SENZA_DOCUMENTO,
    gravita: 'warning',
    messaggio: 'Per familiari e membri di un gruppo il documento non si comunica: i suoi dati non vengono inviati',
    fonte: 'Tracciato, campi 12-14: blank per i tipi 19 e 20',
    trova: ({ campi }) => campi.tipo_documento !== '' || campi.numero_documento !== '' || campi.luogo_rilascio !== ''
  }
]
