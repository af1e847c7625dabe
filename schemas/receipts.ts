import { Type, type Static } from '@sinclair/typebox'
import { Closed, Day, Id, Instant, Ref } from './common.ts'

/* Police receipts, and the bookings they prove or not. */

export const ReceiptQuery = Closed({
  data: {
    ...Day,
    description: 'Il giorno in cui le schedine sono state inviate, prima di oggi. La Polizia dà le ricevute degli ' +
      'ultimi 30 giorni; quelle già scaricate restano'
  }
})

export const BookingToVerify = Closed({
  prenotazione_id: Id,
  nome_cognome: Type.String(),
  check_in: Day,
  /** The legal deadline. */
  scadenza: Instant,
  ospiti_mancanti: Type.Integer({ description: 'Ospiti della prenotazione senza ricevuta' })
}, { $id: 'PrenotazioneDaVerificare' })
export type BookingToVerify = Static<typeof BookingToVerify>

export const CrossCheckQuery = Closed({
  da: Type.Optional({ ...Day, description: 'Arrivi da questo giorno; se manca, dal primo' }),
  a: Type.Optional({ ...Day, description: 'Arrivi fino a questo giorno, compreso, e non dopo oggi; se manca, oggi' })
})
export type CrossCheckQuery = Static<typeof CrossCheckQuery>

export const CrossCheckAnswer = Closed(
  {
    totale_prenotazioni: Type.Integer(),
    totale_ricevute: Type.Integer(),
    mancanti: Type.Array(Ref(BookingToVerify)),
    in_attesa: Type.Array(Ref(BookingToVerify)),
    discordanze: Type.Array(Closed({ giorno: Day, inviate: Type.Integer(), in_ricevuta: Type.Integer() }))
  },
  {
    examples: [
      {
        totale_prenotazioni: 2,
        totale_ricevute: 1,
        mancanti: [
          {
            prenotazione_id: 2,
            nome_cognome: 'Anna Bianchi',
            check_in: '2026-11-21',
            scadenza: '2026-11-22T13:00:00.000Z',
            ospiti_mancanti: 2
          }
        ],
        in_attesa: [
          {
            prenotazione_id: 2,
            nome_cognome: 'Anna Bianchi',
            check_in: '2026-11-21',
            scadenza: '2026-11-22T13:00:00.000Z',
            ospiti_mancanti: 2
          }
        ],
        discordanze: [{ giorno: '2026-11-19', inviate: 3, in_ricevuta: 2 }]
      }
    ]
  }
)
export type CrossCheckAnswer = Static<typeof CrossCheckAnswer>
