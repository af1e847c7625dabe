import { WITH_DOCUMENT, WITHOUT_DOCUMENT } from '#schemas/guest-types.ts'
import { DOCUMENT_FIELDS } from '#schemas/schedina.ts'
import { dayWithArticle } from '#src/lib/day-with-article.ts'
import { FIELDS } from '../codec/layout.ts'
import { STATELESS } from '../tables/types.ts'
import type { GuestCase } from './case.ts'
import { isPlaceholder, unusualNumber } from './document-numbers.ts'
import { describeCharacters } from './confusable-letters.ts'
import { advice, isCentralOffice, matchingIssuers, matchingStates, successors } from './proposals.ts'
import { isMinor } from './person-rules.ts'
import { namedComuni, type Rule } from './rule.ts'

const NUMBER_LENGTH = FIELDS.num_doc.length
const LETTER_OR_DIGIT = /[A-Z0-9]/

const COMMON =
  'PASOR passaporto, IDELE carta d’identità elettronica, IDENT carta d’identità, PATEN patente, ' +
  'RIFUG titolo di viaggio'
const NO_PERMIT = 'Il permesso di soggiorno non è ammesso: serve il passaporto o un altro documento d’identità'

/** Advice about a minor, who may have no document. */
function childHint (guest: GuestCase): string {
  return isMinor(guest)
    ? '. Se il minore viaggia con chi lo accompagna, indicarlo come suo familiare (19). Se il capo è già stato ' +
      'comunicato e il minore non ha un documento suo, chiedere alla Questura quale indicare'
    : ''
}

/** Whether no other rule refuses the document number. */
function isSendable ({ refused, text }: Pick<GuestCase['documentNumber'], 'refused' | 'text'>): boolean {
  return refused === '' && LETTER_OR_DIGIT.test(text) && text.length <= NUMBER_LENGTH
}

/** Rules about the documents of guests who need one. */
const HOLDER_RULES: readonly Rule[] = [
  {
    id: 'tipo-documento-mancante',
    field: 'tipo_documento',
    message: 'Il tipo di documento è obbligatorio per ospite singolo, capo famiglia e capo gruppo. ' +
      `${NO_PERMIT}{minore}`,
    source: 'Tracciato, campo 12',
    applies: (guest) => guest.fields.tipo_documento === '' && { minore: childHint(guest) }
  },
  {
    id: 'tipo-documento-sconosciuto',
    field: 'tipo_documento',
    message: `Il tipo di documento {codice} non è nella tabella dei documenti{consiglio}. I più comuni: ${COMMON}. ` +
      NO_PERMIT,
    source: 'Tabella Tipi_Documento',
    applies: ({ fields: { tipo_documento: codice }, tables }) =>
      codice !== '' && tables.documento(codice) === undefined &&
      { codice, ...advice(tables.named('tipi_documento', codice), '') }
  },
  {
    id: 'numero-documento-mancante',
    field: 'numero_documento',
    message: 'Il numero di documento è obbligatorio per ospite singolo, capo famiglia e capo gruppo{minore}',
    source: 'Tracciato, campo 13',
    applies: (guest) =>
      guest.documentNumber.refused === '' && guest.documentNumber.text === '' && { minore: childHint(guest) }
  },
  {
    id: 'numero-documento-caratteri',
    field: 'numero_documento',
    message: 'Il numero di documento contiene caratteri non ammessi: {caratteri}',
    source: 'Errore del servizio «Numero Documento con caratteri non validi»',
    applies: ({ documentNumber: { refused } }) => refused !== '' && { caratteri: describeCharacters(refused) }
  },
  {
    id: 'numero-documento-senza-segni',
    field: 'numero_documento',
    message: 'Il numero di documento {numero} non contiene né lettere né cifre',
    source: 'Nostra: un numero di documento si ricopia dal documento',
    applies: ({ documentNumber: { refused, text: numero } }) =>
      refused === '' && numero !== '' && !LETTER_OR_DIGIT.test(numero) && { numero }
  },
  {
    id: 'numero-documento-lungo',
    field: 'numero_documento',
    message: `Il numero di documento ha {lunghezza} caratteri: il massimo è ${NUMBER_LENGTH}. ` +
      'Indicare il numero di un documento solo, senza ente, data o altri numeri',
    source: 'Tracciato, campo 13',
    applies: ({ documentNumber: { refused, text } }) =>
      refused === '' && text.length > NUMBER_LENGTH && { lunghezza: text.length }
  },
  {
    id: 'numero-documento-insolito',
    field: 'numero_documento',
    severity: 'warning',
    message: 'Il numero di documento non ha la forma consueta per {tipo} ({attesa}): controllarlo',
    source: 'Nostra: forme note dei documenti (document-numbers.ts)',
    applies: ({ fields, documentNumber: { refused, text }, issue, tables }) => {
      const type = tables.documento(fields.tipo_documento)
      if (type === undefined || !isSendable({ refused, text }) || isPlaceholder(text)) return false
      const isItalian = issue.status === 'found' || issue.status === 'italy'
      const attesa = unusualNumber(type.codice, text, isItalian)
      return attesa !== undefined && { tipo: type.descrizione, attesa }
    }
  },
  {
    id: 'numero-documento-segnaposto',
    field: 'numero_documento',
    severity: 'warning',
    message: 'Il numero di documento {numero} non sembra vero: ricopiarlo dal documento',
    source: 'Nostra: segnaposti come 0000000 o N.D.',
    applies: ({ documentNumber: { refused, text: numero } }) =>
      isSendable({ refused, text: numero }) && isPlaceholder(numero) && { numero }
  },
  {
    id: 'numero-documento-ripetuto',
    field: 'numero_documento',
    severity: 'warning',
    message: 'Anche l’ospite {numero} ha questo numero di documento: controllare di chi è',
    source: 'Nostra: due persone non hanno lo stesso documento',
    applies: ({ documentNumber: { refused, text }, sameDocument, repeats }) =>
      sameDocument !== undefined && repeats === undefined && isSendable({ refused, text }) && !isPlaceholder(text) &&
        { numero: sameDocument + 1 }
  },
  {
    id: 'rilascio-mancante',
    field: 'luogo_rilascio',
    message: 'Il luogo di rilascio del documento è obbligatorio per ospite singolo, capo famiglia e capo gruppo',
    source: 'Tracciato, campo 14',
    applies: ({ issue }) => issue.status === 'absent'
  },
  {
    id: 'rilascio-sconosciuto',
    field: 'luogo_rilascio',
    message: 'Il luogo di rilascio {codice} non è né un comune italiano né uno stato della tabella{consiglio}',
    source: 'Tabella Luoghi',
    applies: ({ issue, fields: { luogo_rilascio: codice }, today, tables }) =>
      issue.status === 'unknown' && !isCentralOffice(codice) &&
      { codice, ...advice(matchingIssuers(codice, tables, today)) }
  },
  {
    id: 'rilascio-ufficio-centrale',
    field: 'luogo_rilascio',
    message: '{codice} è l’ufficio centrale della Motorizzazione, che è a Roma, e non un comune{consiglio}',
    source: 'Patente, campo 4c; tracciato, campo 14',
    applies: ({ fields: { luogo_rilascio: codice }, today, tables }) =>
      isCentralOffice(codice) && { codice, ...advice(matchingIssuers(codice, tables, today)) }
  },
  {
    id: 'rilascio-ambiguo',
    field: 'luogo_rilascio',
    message: 'Il codice {codice} del luogo di rilascio indica più di un comune: scegliere tra {candidati}',
    source: 'Tabella Luoghi: più comuni possono avere lo stesso codice breve',
    applies: ({ issue, fields }) =>
      issue.status === 'ambiguous' && {
        codice: fields.luogo_rilascio,
        candidati: namedComuni(issue.candidates)
      }
  },
  {
    id: 'rilascio-cessato',
    field: 'luogo_rilascio',
    message: 'Il luogo di rilascio {nome} è cessato {data}{consiglio}',
    source: 'Guida p. 9: i luoghi cessati valgono solo per la nascita',
    applies: ({ issue, today, tables }) => {
      if (issue.status !== 'ceased' && issue.status !== 'ceased-state') return false
      const place = issue.status === 'ceased' ? issue.comune : issue.state
      const found = issue.status === 'ceased'
        ? successors(issue.comune, tables, today)
        : matchingStates(place.descrizione, tables, today)
      const data = dayWithArticle('il', place.cessato_il!)
      return { nome: place.descrizione, data, ...advice(found, ': indicare il comune o lo stato di oggi') }
    }
  },
  {
    id: 'rilascio-apolide',
    field: 'luogo_rilascio',
    message: 'Il luogo di rilascio non può essere APOLIDE: indicare il comune o lo stato che rilascia il documento',
    source: 'Tracciato, campo 14: comune se rilasciato in Italia, altrimenti stato',
    applies: ({ fields }) => fields.luogo_rilascio === STATELESS
  },
  {
    id: 'rilascio-italia',
    field: 'luogo_rilascio',
    message: 'Per un documento rilasciato in Italia il luogo di rilascio è il codice del comune',
    source: 'Tracciato, campo 14: comune se rilasciato in Italia, altrimenti stato',
    applies: ({ issue }) => issue.status === 'italy'
  }
]

/** Rules about the identity document, which single guests and leaders must have. */
export const DOCUMENT_RULES: readonly Rule[] = [
  ...HOLDER_RULES.map((rule) => ({ concerns: WITH_DOCUMENT, ...rule })),
  {
    id: 'documento-superfluo',
    field: 'tipo_documento',
    concerns: WITHOUT_DOCUMENT,
    severity: 'warning',
    message: 'Per familiari e membri di un gruppo il documento non si comunica: i suoi dati non vengono inviati',
    source: 'Tracciato, campi 12-14: blank per i tipi 19 e 20',
    applies: ({ fields }) => DOCUMENT_FIELDS.some((field) => fields[field] !== '')
  }
]
