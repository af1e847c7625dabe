import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, Instant, NotEmpty, Nullable, OneOf, Ref, Text } from './common.ts'
import { EventTypeName } from './event.ts'
import { paging } from './paging.ts'

/* Webhooks: URLs to which events are delivered, signed as in https://www.standardwebhooks.com. */

/**
 * `sospeso`: no delivery succeeded for three days, or one failed for three days, or the receiver answered 410.
 * Deliveries stop.
 */
export const WEBHOOK_STATES = ['attivo', 'sospeso'] as const
/** `abbandonata`: its webhook was suspended before the delivery. */
export const DELIVERY_STATES = ['in_coda', 'consegnata', 'abbandonata'] as const

const URL_EXAMPLE = 'https://gestionale.example/eventi'

export const WebhookCreation = Closed({
  url: Text(2000, { minLength: 1, description: 'https, di un indirizzo pubblico' }),
  tipi: Type.Optional(NotEmpty(Type.Array(EventTypeName, {
    maxItems: 100, uniqueItems: true, description: 'I tipi di evento da consegnare; senza, o vuoto, tutti'
  }))),
  descrizione: Type.Optional(Text(200))
}, { examples: [{ url: URL_EXAMPLE, tipi: ['prenotazione.creata'], descrizione: 'Gestionale' }] })
export type WebhookCreation = Static<typeof WebhookCreation>

const EXAMPLE = {
  id: 1,
  url: URL_EXAMPLE,
  descrizione: 'Gestionale',
  tipi: ['prenotazione.creata'],
  stato: 'attivo',
  in_coda: 0,
  errori_di_fila: 0,
  fermo_fino_al: null,
  sospeso_il: null,
  creato_il: '2026-11-21T09:30:00.000Z'
} as const

export const Webhook = Closed({
  id: Id,
  url: Type.String(),
  descrizione: Nullable(Type.String()),
  tipi: Type.Array(Type.String(), { description: 'Vuoto: tutti' }),
  stato: OneOf(WEBHOOK_STATES),
  in_coda: Type.Integer({ minimum: 0, description: 'Consegne che aspettano' }),
  errori_di_fila: Type.Integer({ minimum: 0, description: 'Tentativi falliti dopo l’ultimo riuscito' }),
  fermo_fino_al: Nullable({
    ...Instant, description: 'Fino ad allora nulla si tenta: dopo tre errori di fila, o per il Retry-After ricevuto'
  }),
  sospeso_il: Nullable(Instant),
  creato_il: Instant
}, { $id: 'Webhook', examples: [EXAMPLE] })
export type Webhook = Static<typeof Webhook>

export const WebhookResponse = Closed({ data: Ref(Webhook) }, { examples: [{ data: EXAMPLE }] })
export const WebhookList = Closed({ data: Type.Array(Ref(Webhook)) }, { examples: [{ data: [EXAMPLE] }] })

export const WebhookDeleted = Closed(
  { message: Type.String(), status: Type.Integer() },
  { examples: [{ message: 'Webhook eliminato', status: 200 }] }
)

/** The secrets that sign deliveries. */
export const WebhookSecret = Closed({
  segreto: Type.String({ description: 'whsec_ e 32 byte in base64' }),
  segreto_precedente: Nullable(Type.String({ description: 'Dopo una rotazione si firma anche con questo' })),
  precedente_fino_al: Nullable(Instant)
}, {
  examples: [{
    segreto: 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=', segreto_precedente: null, precedente_fino_al: null
  }]
})
export type WebhookSecret = Static<typeof WebhookSecret>

export const WebhookEmptyBody = Closed({}, { examples: [{}] })

/* The delivery log. */

const ATTEMPT = { quando: '2026-11-21T09:30:01.000Z', durata_ms: 120, stato_http: 200, errore: null } as const
const DELIVERY = {
  id: 1,
  evento: '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f',
  tipo: 'prenotazione.creata',
  oggetto: 'prenotazione:7',
  stato: 'consegnata',
  prossimo_tentativo: null,
  creata_il: '2026-11-21T09:30:00.000Z',
  consegnata_il: '2026-11-21T09:30:01.000Z',
  numero_tentativi: 1,
  tentativi: [ATTEMPT]
} as const

export const Delivery = Closed({
  id: Id,
  evento: Type.String({ description: 'L’id dell’evento: webhook-id' }),
  tipo: Type.String(),
  oggetto: Type.String(),
  stato: OneOf(DELIVERY_STATES),
  prossimo_tentativo: Nullable(Instant),
  creata_il: Instant,
  consegnata_il: Nullable(Instant),
  numero_tentativi: Type.Integer({ minimum: 0 }),
  tentativi: Type.Array(Closed({
    quando: Instant,
    durata_ms: Type.Integer({ minimum: 0 }),
    stato_http: Nullable(Type.Integer()),
    errore: Nullable(Type.String({ description: 'Codice, dove non è venuta una risposta' }))
  }), { description: 'Gli ultimi 20, dal più recente' })
}, { $id: 'ConsegnaWebhook', examples: [DELIVERY] })
export type Delivery = Static<typeof Delivery>

export const DeliveryQuery = Closed({
  stato: Type.Optional(OneOf(DELIVERY_STATES, {
    description: 'Soltanto quelle in questo stato; `abbandonata`: il webhook è stato sospeso prima della consegna'
  })),
  ...paging
})
export const DeliveryList = Closed({ data: Type.Array(Ref(Delivery)) }, { examples: [{ data: [DELIVERY] }] })
export const DeliveryResponse = Closed({ data: Ref(Delivery) }, { examples: [{ data: DELIVERY }] })
export const DeliveryParams = Closed({
  id: { ...Id, description: 'L’id del webhook' },
  consegna: { ...Id, description: 'L’id della consegna, come lo dà l’elenco delle consegne' }
})
