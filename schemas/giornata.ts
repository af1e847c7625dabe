import { Type, type Static, type TInteger } from '@sinclair/typebox'
import { ApartmentId } from './apartment.ts'
import { Closed, Day, Id, NotEmpty, Nullable, OneOf, Ref } from './common.ts'
import { Segnalazione } from './schedina.ts'
import { ROW_OUTCOMES } from './submission.ts'

/* All bookings of an arrival day. */

/** The states of a booking in the day overview, with Italian singular and plural. */
export const DAY_STATES = {
  pronta: ['pronta', 'pronte'],
  incompleta: ['da completare', 'da completare'],
  da_confermare: ['da confermare', 'da confermare'],
  gia_inviata: ['già inviata', 'già inviate'],
  in_corso: ['in corso', 'in corso'],
  acquisita: ['acquisita', 'acquisite'],
  parziale: ['acquisita in parte', 'acquisite in parte'],
  rifiutata: ['rifiutata', 'rifiutate'],
  sconosciuta: ['di esito sconosciuto', 'di esito sconosciuto'],
  non_inviata: ['non inviata', 'non inviate']
} as const
export type DayState = keyof typeof DAY_STATES
export const DAY_STATE_NAMES = Object.keys(DAY_STATES) as [DayState, ...DayState[]]

/** Sent, being sent, or (in test mode) ready: the request was successful. */
export const SUCCESS_DAY_STATES = ['pronta', 'gia_inviata', 'in_corso', 'acquisita'] as const satisfies DayState[]

/** The body is optional. */
export const GiornataBody = Nullable(Closed({
  data: Type.Optional(NotEmpty(Day)),
  prova: Type.Optional(NotEmpty(
    Type.Boolean({ description: 'Dice che cosa partirebbe e che cosa manca; non invia nulla' })
  )),
  prenotazioni: Type.Optional(NotEmpty(
    Type.Array(Id, { minItems: 1, maxItems: 1000, description: 'Soltanto queste fra gli arrivi del giorno' })
  )),
  appartamenti: Type.Optional(NotEmpty(Type.Array(
    Closed({ prenotazione_id: Id, id_appartamento: ApartmentId() }),
    { maxItems: 1000, description: 'Per gli account "Gestione Appartamenti": l’appartamento di ogni prenotazione' }
  ))),
  id_appartamento: Type.Optional(ApartmentId({
    description: 'Lo stesso per una prenotazione sola, che `prenotazioni` nomina. Non vale per più di una'
  }))
}, { examples: [{ data: '2026-11-21', prova: true }] }))
export type GiornataBody = Static<typeof GiornataBody>

const SchedinaDellaGiornata = Closed({
  /** Index in the booking's guests. */
  ospite: Type.Integer({ minimum: 0 }),
  esito: OneOf(ROW_OUTCOMES),
  codice_errore: Type.String(),
  messaggio_soap: Type.String(),
  dettaglio: Type.String()
})
export type SchedinaDellaGiornata = Static<typeof SchedinaDellaGiornata>

export const PrenotazioneDellaGiornata = Closed({
  prenotazione_id: Id,
  nome_cognome: Type.String(),
  stato: OneOf(DAY_STATE_NAMES),
  /** The first night to declare, if later than the arrival day: for guests who arrive later or prolong their stay. */
  dal: Type.Optional(Day),
  /** Number of due guests who are saved, and of all due guests. */
  ospiti: Type.Integer(),
  numero_ospiti: Type.Integer(),
  /** The submissions of its guests. */
  ricevute: Type.Array(Type.String()),
  /** Errors to correct. `ospite` is the index in the booking's guests. */
  errors: Type.Array(Ref(Segnalazione)),
  warnings: Type.Array(Ref(Segnalazione), {
    description: 'Come quelle di valida: non fermano l’invio. Di una prenotazione già inviata nessuna'
  }),
  /** The result of each guest sent by this request. */
  schedine: Type.Array(SchedinaDellaGiornata)
}, { $id: 'PrenotazioneDellaGiornata' })
export type PrenotazioneDellaGiornata = Static<typeof PrenotazioneDellaGiornata>

const zero = Object.fromEntries(DAY_STATE_NAMES.map((name) => [name, 0])) as Record<DayState, number>
const counts = Object.fromEntries(DAY_STATE_NAMES.map((name) => [name, Type.Integer()])) as Record<DayState, TInteger>

export const GiornataResponse = Closed({
  /** Every booking of the day is sent, being sent, or (in test mode) ready. */
  success: Type.Boolean(),
  message: Type.String(),
  data: Day,
  prova: Type.Boolean(),
  totale_prenotazioni: Type.Integer(),
  totale_ospiti: Type.Integer(),
  /** Number of bookings in each state. */
  totali: Closed(counts),
  prenotazioni: Type.Array(Ref(PrenotazioneDellaGiornata))
}, {
  examples: [{
    success: true,
    message: '1 prenotazione: 1 acquisita',
    data: '2026-11-21',
    prova: false,
    totale_prenotazioni: 1,
    totale_ospiti: 1,
    totali: { ...zero, acquisita: 1 },
    prenotazioni: [{
      prenotazione_id: 1,
      nome_cognome: 'Anna Bianchi',
      stato: 'acquisita',
      ospiti: 1,
      numero_ospiti: 1,
      ricevute: ['AW-20261121-1'],
      errors: [],
      warnings: [],
      schedine: [{ ospite: 0, esito: 'acquisita', codice_errore: '', messaggio_soap: '', dettaglio: '' }]
    }]
  }]
})
export type GiornataResponse = Static<typeof GiornataResponse>
