import { Type, type Static } from '@sinclair/typebox'
import { Closed, Day, Id, Instant, OneOf, Ref } from './common.ts'
import { AccountQuery } from './police-account.ts'

/* Police receipts, and the comparison of bookings with them. */

export const ReceiptQuery = Closed({
  data: {
    ...Day,
    description: 'Il giorno in cui le schedine sono state inviate, prima di oggi. La Polizia dà le ricevute degli ' +
      'ultimi 30 giorni; quelle già scaricate restano'
  },
  struttura_id: AccountQuery.properties.struttura_id
})

/** The reasons why a submission waits for its receipt, with their texts for persons. */
const WAIT_REASONS = {
  non_ancora_emessa: 'la Polizia non ha ancora dato la ricevuta del giorno',
  ricevuta_chiesta: 'la ricevuta è stata chiesta, e il servizio non ha ancora risposto',
  servizio_non_raggiungibile: 'il servizio non risponde: il server riprova da solo',
  credenziali_rifiutate: 'il servizio ha rifiutato le credenziali: se la password è cambiata serve una nuova WSKEY',
  credenziali_mancanti: 'mancano le credenziali dell’account che ha inviato',
  ricevuta_scaduta: 'il servizio dà le ricevute per 30 giorni, che sono passati',
  invio_in_corso: 'l’invio è in corso o aspetta di partire',
  esito_sconosciuto: 'l’esito dell’invio non è noto: non va ripetuto',
  da_verificare: 'una persona deve decidere dell’invio',
  comunicata_altrove: 'comunicata per altra via: una ricevuta non arriverà'
} as const
export type WaitReason = keyof typeof WAIT_REASONS
const WAIT_REASON_NAMES = Object.keys(WAIT_REASONS) as [WaitReason, ...WaitReason[]]

const struttura_id = Type.Optional({
  ...Id, description: 'La struttura della sua unità, quando le strutture sono più di una'
})

export const BookingToVerify = Closed({
  prenotazione_id: Id,
  struttura_id,
  nome_cognome: Type.String(),
  check_in: Day,
  /** The legal deadline. */
  scadenza: Instant,
  ospiti_mancanti: Type.Integer({
    description: 'In mancanti gli ospiti da inviare; in in_attesa quelli inviati e senza ricevuta'
  }),
  giorno: Type.Optional({ ...Day, description: 'In in_attesa: il giorno di cui si aspetta la ricevuta' }),
  motivo: Type.Optional(OneOf(WAIT_REASON_NAMES, {
    description: 'In in_attesa: ' +
      Object.entries(WAIT_REASONS).map(([name, text]) => `\`${name}\`: ${text}`).join('; ')
  }))
}, { $id: 'PrenotazioneDaVerificare' })
export type BookingToVerify = Static<typeof BookingToVerify>

export const ProlongedStay = Closed({
  prenotazione_id: Id,
  struttura_id,
  nome_cognome: Type.String(),
  check_in: Day,
  dal: { ...Day, description: 'La prima notte non comunicata: una proroga è un nuovo arrivo' },
  /** The legal deadline. */
  scadenza: Instant,
  ospiti_mancanti: Type.Integer({ description: 'Ospiti di cui questa notte non è comunicata' })
}, { $id: 'ProrogaDaComunicare' })
export type ProlongedStay = Static<typeof ProlongedStay>

export const CrossCheckQuery = Closed({
  da: Type.Optional({ ...Day, description: 'Arrivi da questo giorno; se manca, dal primo' }),
  a: Type.Optional({ ...Day, description: 'Arrivi fino a questo giorno, compreso, e non dopo oggi; se manca, oggi' })
})
export type CrossCheckQuery = Static<typeof CrossCheckQuery>

export const CrossCheckResponse = Closed(
  {
    totale_prenotazioni: Type.Integer(),
    totale_ricevute: Type.Integer(),
    mancanti: Type.Array(Ref(BookingToVerify)),
    in_attesa: Type.Array(Ref(BookingToVerify)),
    proroghe: Type.Array(Ref(ProlongedStay)),
    discordanze: Type.Array(Closed({ giorno: Day, inviate: Type.Integer(), in_ricevuta: Type.Integer() }))
  },
  {
    examples: [
      {
        totale_prenotazioni: 3,
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
            prenotazione_id: 3,
            nome_cognome: 'Carlo Verdi',
            check_in: '2026-11-21',
            scadenza: '2026-11-22T13:00:00.000Z',
            ospiti_mancanti: 2,
            giorno: '2026-11-21',
            motivo: 'non_ancora_emessa'
          }
        ],
        proroghe: [
          {
            prenotazione_id: 1,
            nome_cognome: 'Marco Prova',
            check_in: '2026-11-19',
            dal: '2026-11-21',
            scadenza: '2026-11-22T13:00:00.000Z',
            ospiti_mancanti: 1
          }
        ],
        discordanze: [{ giorno: '2026-11-19', inviate: 3, in_ricevuta: 2 }]
      }
    ]
  }
)
export type CrossCheckResponse = Static<typeof CrossCheckResponse>
