import { Type, type Static } from '@sinclair/typebox'
import { BOOKING_STATES } from './booking.ts'
import { Closed, Day, Id, Nullable, OneOf, Ref } from './common.ts'
import { DAY_STATE_NAMES } from './giornata.ts'
import { Segnalazione } from './schedina.ts'

/* The day at the desk. */

export const TodayQuery = Closed({
  giorno: Type.Optional({ ...Day, description: 'Il giorno; se manca, oggi a Roma' })
})

const Count = (description: string) => Type.Integer({ minimum: 0, description })

/** The number that remains to do, and the total. */
const Left = (description: string) => Closed({
  restano: Count('Quanti ne restano'), totale: Count('Quanti sono in tutto')
}, { description })

export const TodayBooking = Closed({
  id: Id,
  nome_cognome: Type.String(),
  check_in: Day,
  check_out: Day,
  numero_notti: Type.Integer(),
  unita: Nullable(Closed({ id: Id, nome: Type.String() }, { description: 'Null finché non è assegnata' })),
  stato: OneOf(BOOKING_STATES),
  ospiti_completi: Count('Gli ospiti salvati con tutti i dati per la Polizia'),
  numero_ospiti: Type.Integer(),
  registrazione: Nullable(OneOf(DAY_STATE_NAMES, {
    description: 'Presso la Polizia, come `stato` di POST /api/v1/invii/giornata; null se non è confermata'
  })),
  mancano: Type.Array(Ref(Segnalazione), {
    description: 'Che cosa manca o è da correggere, in breve: le prime segnalazioni delle regole'
  }),
  lettera: Type.Boolean({ description: 'La lettera di benvenuto è fatta' })
}, { $id: 'PrenotazioneDiOggi' })
export type TodayBooking = Static<typeof TodayBooking>

const Bookings = (description: string) => Type.Array(Ref(TodayBooking), { description })

export const Today = Closed({
  giorno: Day,
  contatori: Closed({
    arrivi: Left('Le prenotazioni che arrivano; restano quelle di `non_arrivati`'),
    partenze: Count('Le prenotazioni che partono'),
    in_casa: Count('Le prenotazioni di `in_casa`'),
    ospiti_da_comunicare: Left('Gli ospiti da comunicare alla Polizia in questo giorno; restano quelli non inviati')
  }),
  arrivi: Bookings('Le prenotazioni confermate che arrivano in questo giorno'),
  partenze: Bookings('Le prenotazioni confermate che partono in questo giorno'),
  in_casa: Bookings('Le prenotazioni confermate con la notte di questo giorno, senza quelle di `non_arrivati`'),
  non_arrivati: Bookings('Gli arrivi del giorno di cui nessun ospite è stato inviato alla Polizia. Il ' +
    'check-in non si registra: gli ospiti si comunicano quando arrivano, quindi l’invio vale come arrivo'),
  annullate: Bookings('Gli arrivi del giorno che sono annullati, o di chi non si è presentato')
})
export type Today = Static<typeof Today>

const BOOKING = {
  id: 12,
  nome_cognome: 'Anna Bianchi',
  check_in: '2026-11-21',
  check_out: '2026-11-24',
  numero_notti: 3,
  unita: { id: 1, nome: 'Camera Glicine' },
  stato: 'confermata',
  ospiti_completi: 1,
  numero_ospiti: 2,
  registrazione: 'incompleta',
  mancano: [{ ospite: 1, campo: 'ospiti', messaggio: '1 ospite salvato su 2' }],
  lettera: false
}

export const TodayResponse = Closed({ data: Today }, {
  examples: [{
    data: {
      giorno: '2026-11-21',
      contatori: {
        arrivi: { restano: 1, totale: 1 },
        partenze: 0,
        in_casa: 0,
        ospiti_da_comunicare: { restano: 2, totale: 2 }
      },
      arrivi: [BOOKING],
      partenze: [],
      in_casa: [],
      non_arrivati: [BOOKING],
      annullate: []
    }
  }]
})
