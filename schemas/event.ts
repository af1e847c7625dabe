import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, Instant, NotEmpty, Nullable, OneOf, Ref } from './common.ts'
import { paging } from './paging.ts'
import { STATE_NAMES } from './submission.ts'

/* Events: what happened to which object, and when. They contain ids. Clients query the object for more. */

/** Written by triggers: see section "Events" of `drizzle/migrations/0001_rules.sql`. */
const EVENT_TYPES = [
  'prenotazione.creata',
  'prenotazione.modificata',
  'prenotazione.eliminata',
  'ospiti.modificati',
  ...STATE_NAMES.map((state) => `invio.${state}` as const),
  'ricevuta.creata',
  'ricevuta.modificata',
  'lettera.creata',
  'lettera.eliminata',
  'scansione.creata',
  'scansione.modificata',
  'scansione.eliminata',
  'allarme.sollevato',
  'webhook.sospeso',
  'webhook.prova',
  'salvataggio.riuscito',
  'salvataggio.fallito',
  'fattore.aggiunto',
  'fattore.tolto'
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** Whether a person has a second factor is visible only to administrators, and to webhooks, which they create. */
export const ADMIN_EVENT_TYPES: readonly EventType[] = ['fattore.aggiunto', 'fattore.tolto']

export const EventTypeName = OneOf(EVENT_TYPES, { examples: ['prenotazione.creata'] })

const EXAMPLE = {
  id: '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f',
  cursor: '7-0d9b7b1e',
  tipo: 'prenotazione.creata',
  quando: '2026-11-21T09:30:00.000Z',
  oggetto: 'prenotazione:7',
  prenotazione_id: 7,
  dettaglio: null
} as const

export const Event = Closed({
  id: Type.String({ description: 'Lo stesso in ogni lettura e in ogni consegna' }),
  cursor: Type.String({ description: 'Per leggere da qui in poi' }),
  tipo: EventTypeName,
  quando: Instant,
  oggetto: Type.String({ description: 'A che cosa è successo, per esempio invio:7 o ricevuta:2026-11-21' }),
  prenotazione_id: Nullable(Type.Integer({ description: 'La prenotazione che riguarda, se è una' })),
  dettaglio: Nullable(Type.String({
    description: 'Di un allarme: quale; di un secondo fattore: il tipo; di una prenotazione: lo stato, se è cambiato'
  }))
}, { $id: 'Evento', examples: [EXAMPLE] })
export type Event = Static<typeof Event>

export const EventQuery = Closed({
  tipo: Type.Optional({
    ...NotEmpty(EventTypeName),
    description: 'Soltanto gli eventi di questo tipo; `invio.` e uno stato: l’invio vi è passato'
  }),
  prenotazione_id: Type.Optional({
    ...NotEmpty(Id), description: 'Soltanto gli eventi che riguardano questa prenotazione'
  }),
  ...paging,
  cursor: Type.Optional({
    ...paging.cursor,
    description: 'Il cursor dell’ultima pagina, o dell’ultimo evento letto: vengono gli eventi successivi. Se manca, ' +
      'le pagine cominciano dal più vecchio, il flusso da adesso'
  })
})
export type EventQuery = Static<typeof EventQuery>

const EventList = Closed({
  data: Type.Array(Ref(Event)),
  cursor: Type.String({
    description: 'Fin dove si è letto, anche se nessun evento corrisponde ai filtri: per leggere da qui in poi'
  })
}, { examples: [{ data: [EXAMPLE], cursor: EXAMPLE.cursor }] })

const EventStream = {
  type: 'string',
  description: 'Server-sent events. Di ciascuno `id` è il `cursor`, `event` il `tipo`, `data` l’oggetto `Evento` in ' +
    'JSON su una riga. Un `id` senza `event` e `data` dice soltanto fin dove si è letto, e un `EventSource` non lo ' +
    `segnala. I nomi degli eventi: ${EVENT_TYPES.map((type) => `\`${type}\``).join(', ')}.`,
  examples: [
    'retry: 3000\nid: 6-1f5c9e02\n\n' +
    `id: ${EXAMPLE.cursor}\nevent: ${EXAMPLE.tipo}\ndata: ${JSON.stringify(EXAMPLE)}\n\n`
  ]
}

/** A page, or with `Accept: text/event-stream` a stream of events. */
export const EventResponse = {
  description: 'Una pagina di eventi, o il flusso degli eventi',
  content: {
    'application/json': { schema: EventList },
    'text/event-stream': { schema: EventStream }
  }
}

/** The body of a webhook delivery. */
export const EventMessage = Closed({
  type: EventTypeName,
  timestamp: Instant,
  data: Ref(Event)
}, { $id: 'MessaggioWebhook' })
export type EventMessage = Static<typeof EventMessage>
