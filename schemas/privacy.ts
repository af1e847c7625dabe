import { Type, type Static } from '@sinclair/typebox'
import { Closed, Day, Id, Nullable, OneOf, Ref } from './common.ts'
import { SIDES } from './storage.ts'

/* The personal-data report of a booking: which data are kept, why, and until when. */

/** The states of a guest's document image or scan, with the texts shown to users. */
export const IMAGE_STATES = {
  in_scadenza: 'La ricevuta che copre l’ospite è arrivata: si elimina in questo giorno',
  in_attesa_di_ricevuta: 'L’ospite è stato acquisito dalla Polizia: si attende la ricevuta del giorno',
  invio_aperto: 'Un invio alla Polizia della prenotazione è in corso',
  esito_sconosciuto: 'L’esito di un invio alla Polizia della prenotazione non è noto',
  senza_ricevuta: 'L’ospite è stato comunicato per altra via: una ricevuta non arriverà. Resta finché non si elimina',
  altro_arrivo:
    'L’ospite è stato comunicato alla Polizia con un altro arrivo, prima che la prenotazione fosse spostata. Resta ' +
    'finché non si invia di nuovo o non si elimina',
  mai_inviata: 'L’ospite non risulta acquisito dalla Polizia. Resta finché non si invia o non si elimina'
} as const
export type ImageState = keyof typeof IMAGE_STATES

/** Reasons for keeping data. */
const HELD_STATES = [
  'finche_esiste_la_prenotazione', 'in_scadenza', 'in_attesa_di_ricevuta', 'invio_aperto', 'esito_sconosciuto',
  'senza_ricevuta', 'altro_arrivo', 'mai_inviata', 'prova_di_legge'
] as const satisfies (ImageState | 'finche_esiste_la_prenotazione' | 'prova_di_legge')[]

const HELD_THINGS = [
  'prenotazione', 'ospiti', 'immagine_documento', 'scansione', 'lettera_benvenuto', 'schedine_cifrate', 'storia_invio',
  'ricevuta_polizia'
] as const

const EXAMPLE = {
  cosa: 'immagine_documento' as const,
  quanti: 1,
  ospite: 0,
  lato: 'front' as const,
  riferimento: null,
  stato: 'in_scadenza' as const,
  fino_a: '2026-11-29',
  motivo: IMAGE_STATES.in_scadenza,
  per_legge: false
}

export const HeldData = Closed({
  cosa: OneOf(HELD_THINGS),
  quanti: Type.Integer({ minimum: 1 }),
  ospite: Nullable(Type.Integer({ description: 'Di quale ospite, da 0' })),
  lato: Nullable(OneOf(SIDES)),
  riferimento: Nullable(Type.String({ description: 'L’invio, il giorno della ricevuta o la scansione' })),
  stato: OneOf(HELD_STATES),
  fino_a: Nullable(Type.String({ ...Day, description: 'Null: nessun termine finché dura il motivo' })),
  motivo: Type.String(),
  per_legge: Type.Boolean({ description: 'Resta anche dopo la cancellazione' })
}, { $id: 'DatoConservato', examples: [EXAMPLE] })
export type HeldData = Static<typeof HeldData>

export const PrivacyResponse = Closed({
  data: Closed({
    prenotazione_id: Id,
    esiste: Type.Boolean({ description: 'False: la prenotazione è stata eliminata' }),
    conservati: Type.Array(Ref(HeldData))
  })
}, { examples: [{ data: { prenotazione_id: 1, esiste: true, conservati: [EXAMPLE] } }] })

export const ErasureResponse = Closed({
  message: Type.String(),
  eliminati: Type.Array(Ref(HeldData)),
  conservati: Type.Array(Ref(HeldData)),
  status: Type.Integer()
}, {
  examples: [{
    message: 'Prenotazione 1 cancellata',
    eliminati: [EXAMPLE],
    conservati: [],
    status: 200
  }]
})
