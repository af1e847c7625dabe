import { Type, type Static } from '@sinclair/typebox'
import { Closed, Day, Id, Instant, Nullable, OneOf, Ref, Text } from './common.ts'
import { paging } from './paging.ts'
import { ATTEMPT_OUTCOMES, DECISIONS, ROW_OUTCOMES, STATE_NAMES, STATES } from './submission.ts'

/* Responses of the submission ledger. */

const Stato = OneOf(STATE_NAMES)
const STATE_WORDS = Object.entries(STATES).map(([name, words]) => `\`${name}\`: ${words}`).join('; ')

const fields = {
  id: Id,
  ricevuta: Type.String(),
  stato: { ...Stato, description: STATE_WORDS },
  metodo: Type.String(),
  id_appartamento: Nullable(Type.Integer()),
  prenotazione_id: Nullable(Type.Integer()),
  data_arrivo: Day,
  permanenza: Type.Integer(),
  /** The legal deadline. */
  scadenza: Instant,
  numero_schedine: Type.Integer(),
  operatore: Type.String(),
  nota: Nullable(Type.String()),
  creato_il: Instant,
  aggiornato_il: Instant
}

const EXAMPLE = {
  id: 1,
  ricevuta: 'AW-20261121-1',
  stato: 'sconosciuto' as const,
  metodo: 'Send',
  id_appartamento: null,
  prenotazione_id: 1,
  data_arrivo: '2026-11-21',
  permanenza: 3,
  scadenza: '2026-11-22T13:00:00.000Z',
  numero_schedine: 1,
  operatore: 'server',
  nota: 'nessuna risposta completa in tempo',
  creato_il: '2026-11-21T09:30:00.000Z',
  aggiornato_il: '2026-11-21T09:31:00.000Z'
}

export const Invio = Closed(fields, { $id: 'Invio', examples: [EXAMPLE] })
export type Invio = Static<typeof Invio>

export const InvioQuery = Closed({
  stato: Type.Optional({ ...Stato, description: `Soltanto quelli in questo stato. ${STATE_WORDS}` }),
  prenotazione_id: Type.Optional({ ...Id, description: 'Soltanto quelli con ospiti di questa prenotazione' }),
  da: Type.Optional({ ...Day, description: 'Arrivi da questo giorno' }),
  a: Type.Optional({ ...Day, description: 'Arrivi fino a questo giorno, compreso' }),
  ricevuta: Type.Optional(Text(40, {
    minLength: 1, description: 'Soltanto quello con questa ricevuta, per intero', examples: ['AW-20261121-1']
  })),
  ...paging
})
export type InvioQuery = Static<typeof InvioQuery>

export const InvioList = Closed({ data: Type.Array(Ref(Invio)) }, { examples: [{ data: [EXAMPLE] }] })

/** The visible part of a record: enough to distinguish the guests of a list, not to identify a person. */
export const Mascherata = Closed({
  tipo_alloggiato: Type.String(),
  cognome: Type.String({ description: 'Iniziale' }),
  nome: Type.String({ description: 'Iniziale' }),
  anno_nascita: Type.Integer(),
  cittadinanza: Type.String(),
  tipo_documento: Type.String(),
  numero_documento: Type.String({ description: 'Ultimi caratteri' })
})
export type Mascherata = Static<typeof Mascherata>

const Riga = Closed({
  indice: Type.Integer(),
  capo: Type.Integer(),
  esito: OneOf(ROW_OUTCOMES),
  codice_errore: Nullable(Type.String()),
  messaggio_soap: Nullable(Type.String()),
  dettaglio: Nullable(Type.String()),
  permanenza: Type.Integer(),
  /** Null if the record is no longer readable. */
  schedina: Nullable(Mascherata)
})

const Esito = OneOf(ATTEMPT_OUTCOMES, { description: 'K noto, riga per riga; N provato non acquisito; ? sconosciuto' })

/** An observation of an attempt: a reply, a receipt, a decision, or the death of its process before the reply. */
const Osservazione = Closed({
  esito: Esito,
  fonte: Type.String(),
  schedine: Type.Integer(),
  notti: Type.Integer(),
  http_status: Nullable(Type.Integer()),
  errore: Nullable(Type.String()),
  registrato_il: Instant
})

const Tentativo = Closed({
  numero: Type.Integer(),
  base: Type.String(),
  inviato_il: Instant,
  giorno_da: Day,
  giorno_a: Day,
  schedine: Type.Integer(),
  notti: Type.Integer(),
  /** Null while the call is in progress. */
  esito: Nullable(Esito),
  osservazioni: Type.Array(Osservazione)
})

const Transizione = Closed({
  id: Id,
  da: Nullable(Stato),
  a: Stato,
  chi: Type.String(),
  perche: Type.String(),
  quando: Instant,
  hash: Type.String({ description: 'SHA-256 concatenato al precedente, esadecimale' })
})

const DecisionePresa = Closed({
  decisione: OneOf(DECISIONS),
  versione: Type.Integer(),
  chi: Type.String(),
  motivo: Type.String(),
  protocollo: Nullable(Type.String()),
  quando: Instant
})

/** A person's confirmation that guests differ from those sent before, or exceed the booking's number. */
const Conferma = Closed({
  chi: Type.String(),
  motivo: Type.String(),
  /** The references that the person was shown. */
  precedenti: Type.Array(Type.String()),
  quando: Instant
})

/** A request to the questura to correct a submission or one of its rows. */
const Correzione = Closed({
  riga: Nullable(Type.Integer()),
  chi: Type.String(),
  motivo: Type.String(),
  protocollo: Nullable(Type.String()),
  quando: Instant
})

/** The example of a submission with its history: the outcome is unknown, and there is no decision yet. */
export const DETAIL_EXAMPLE = {
  ...EXAMPLE,
  versione: 3,
  righe: [
    {
      indice: 0,
      capo: 0,
      esito: 'sconosciuta',
      codice_errore: null,
      messaggio_soap: null,
      dettaglio: null,
      permanenza: 3,
      schedina: {
        tipo_alloggiato: '16',
        cognome: 'B.',
        nome: 'A.',
        anno_nascita: 1985,
        cittadinanza: '100000100',
        tipo_documento: 'IDELE',
        numero_documento: '…5AA'
      }
    }
  ],
  tentativi: [
    {
      numero: 1,
      base: 'primo',
      inviato_il: '2026-11-21T09:30:30.000Z',
      giorno_da: '2026-11-21',
      giorno_a: '2026-11-21',
      schedine: 1,
      notti: 3,
      esito: '?',
      osservazioni: [
        {
          esito: '?',
          fonte: 'risposta',
          schedine: 0,
          notti: 0,
          http_status: null,
          errore: 'timeout',
          registrato_il: '2026-11-21T09:31:00.000Z'
        }
      ]
    }
  ],
  transizioni: [
    {
      id: 1,
      da: null,
      a: 'pronto',
      chi: 'server',
      perche: 'accettato',
      quando: '2026-11-21T09:30:00.000Z',
      hash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'
    }
  ],
  decisioni: [],
  conferma: null,
  correzioni: [],
  ricevuta_giorno: null,
  integro: true
}

export const InvioDetail = Closed(
  {
    ...fields,
    versione: Type.Integer(),
    righe: Type.Array(Riga),
    tentativi: Type.Array(Tentativo),
    transizioni: Type.Array(Transizione),
    decisioni: Type.Array(DecisionePresa),
    conferma: Nullable(Conferma),
    correzioni: Type.Array(Correzione),
    /** The stored receipt of the day on which it was sent. */
    ricevuta_giorno: Nullable(
      Closed({
        giorno: Day,
        sha256: Type.String(),
        schedine: Nullable(Type.Integer()),
        notti: Nullable(Type.Integer())
      })
    ),
    integro: Type.Boolean({ description: 'false: nel registro qualcosa di questo invio è stato alterato' })
  },
  {
    $id: 'InvioConStoria',
    examples: [DETAIL_EXAMPLE]
  }
)
export type InvioDetail = Static<typeof InvioDetail>

export const InvioDetailResponse = Closed({ data: Ref(InvioDetail) })
