import { Type, type Static } from '@sinclair/typebox'
import { Closed, Day, Id, Instant, NotEmpty, Nullable, OneOf, QueryInstant, Text, Upper } from './common.ts'
import { Guest, Name } from './guest.ts'
import { Paragraphs } from './paragraphs.ts'
import { pagingOrWhole } from './paging.ts'

const Lingua = Type.String({
  pattern: '^[A-Z]{2}$',
  description: 'Codice lingua di due lettere maiuscole',
  examples: ['IT']
})
const Email = Type.String({ format: 'email', maxLength: 254, examples: ['anna.bianchi@example.com'] })

/** Maximum nights of a booking. A hundred years catch a mistyped year. */
export const MAX_BOOKED_NIGHTS = 36_500
const Notti = Type.Integer({ minimum: 1, maximum: MAX_BOOKED_NIGHTS, examples: [3] })
const Ospiti = Type.Integer({ minimum: 1, maximum: 1000, examples: [2] })

/** A booking without a state is confirmed. Guests of a booking in another state need no schedine. */
export const BOOKING_STATES = ['confermata', 'annullata', 'non_presentato'] as const
export type BookingState = typeof BOOKING_STATES[number]
const Stato = OneOf(BOOKING_STATES, {
  description: '`annullata` e `non_presentato` liberano le date, e non si comunicano alla Polizia'
})

const Valuta = Type.String({
  pattern: '^[A-Z]{3}$', description: 'ISO 4217; con un prezzo, se manca, EUR', examples: ['EUR']
})

/** The optional fields of a stay. */
const details = {
  unita_id: Nullable({ ...Id, description: 'L’unità; null finché non è assegnata' }),
  canale: Nullable(Text(50, { description: 'Da dove viene la prenotazione', examples: ['Booking.com'] })),
  prezzo: Nullable(Type.Integer({
    minimum: 0, maximum: 2_000_000_000, description: 'In centesimi di `valuta`', examples: [24_000]
  })),
  valuta: Nullable(Valuta),
  note: Nullable(Paragraphs(2000)),
  gruppo: Nullable(Text(50, { description: 'Lo stesso per le camere di una comitiva' }))
}

const person = {
  nome_cognome: Name(200, { examples: ['Anna Bianchi'] }),
  lingua: Lingua
}

/** The response fields of a booking. */
const fields = {
  id: Id,
  ...person,
  email: Nullable(Email),
  telefono: Nullable(Text(50, { examples: ['+39 055 1234567'] })),
  paese_id: Id,
  check_in: Day,
  check_out: Day,
  numero_notti: Notti,
  numero_ospiti: Ospiti,
  idf_gen: Nullable(Text(100, { examples: ['BK-4711'] })),
  stato: Stato,
  ...details
}
const stamps = { created_at: Instant, updated_at: Instant }

const EXAMPLE = {
  id: 1,
  nome_cognome: 'Anna Bianchi',
  lingua: 'IT',
  email: 'anna.bianchi@example.com',
  telefono: null,
  paese_id: 380,
  check_in: '2026-11-21',
  check_out: '2026-11-24',
  numero_notti: 3,
  numero_ospiti: 2,
  idf_gen: null,
  stato: 'confermata',
  unita_id: null,
  canale: null,
  prezzo: null,
  valuta: null,
  note: null,
  gruppo: null
}
const STAMPS = { created_at: '2026-11-21T09:30:00.000Z', updated_at: '2026-11-21T09:30:00.000Z' }

export const Booking = Closed({ ...fields, ...stamps }, { $id: 'Prenotazione', examples: [{ ...EXAMPLE, ...STAMPS }] })
export type Booking = Static<typeof Booking>

const GUEST = {
  id: 7,
  nome: 'Anna',
  cognome: 'Bianchi',
  sesso: 'F',
  data_nascita: '1985-04-12',
  tipo_documento: 'IDELE',
  numero_documento: 'CA12345AA'
}

export const BookingDetail = Closed(
  { ...fields, ospiti: Type.Array(Guest), ...stamps },
  { $id: 'PrenotazioneConOspiti' }
)
export type BookingDetail = Static<typeof BookingDetail>
export const BookingDetailResponse = Closed(
  { data: BookingDetail },
  { examples: [{ data: { ...EXAMPLE, ospiti: [GUEST], ...STAMPS } }] }
)

const input = {
  ...person,
  lingua: Upper(Lingua),
  email: Type.Optional(Nullable(Email)),
  telefono: Type.Optional(Nullable(Text(50))),
  paese_id: { ...Id, description: 'Il paese di provenienza: il codice numerico ISO 3166-1 (GET /api/v1/paesi)' },
  check_in: Day,
  check_out: Type.Optional({
    ...Day, description: 'La partenza; serve questa o numero_notti, e con tutti e due vale questa'
  }),
  numero_notti: Type.Optional(Notti),
  numero_ospiti: Ospiti,
  idf_gen: Type.Optional(Nullable(Text(100, { description: 'Il codice della prenotazione presso chi la gestisce' }))),
  stato: Type.Optional(Stato),
  ...Type.Partial(Type.Object({ ...details, valuta: Upper(Nullable(Valuta)) })).properties
}

/** `src/bookings/stay.ts` also requires one of `check_out` and `numero_notti`, with an error that names both. */
export const BookingCreation = Closed(input, {
  examples: [
    {
      nome_cognome: 'Anna Bianchi',
      lingua: 'IT',
      email: 'anna.bianchi@example.com',
      paese_id: 380,
      check_in: '2026-11-21',
      numero_notti: 3,
      numero_ospiti: 2
    }
  ]
})
export type BookingCreation = Static<typeof BookingCreation>

const { nome_cognome, lingua, paese_id, check_in, numero_ospiti } = input

/**
 * Any of the fields. A whole booking can be sent back: its read-only fields are ignored. The fields that every booking
 * has cannot be emptied.
 */
export const BookingUpdate = Closed({
  ...Type.Partial(Type.Object(input)).properties,
  nome_cognome: Type.Optional(NotEmpty(nome_cognome)),
  lingua: Type.Optional(NotEmpty(lingua)),
  paese_id: Type.Optional(NotEmpty(paese_id)),
  check_in: Type.Optional(NotEmpty(check_in)),
  numero_ospiti: Type.Optional(NotEmpty(numero_ospiti)),
  stato: Type.Optional(Stato),
  id: Type.Optional(Type.Unknown()),
  ospiti: Type.Optional(Type.Unknown()),
  created_at: Type.Optional(Type.Unknown()),
  updated_at: Type.Optional(Type.Unknown())
}, { examples: [{ check_out: '2026-11-25' }] })
export type BookingUpdate = Static<typeof BookingUpdate>

export const BookingResponse = (status: 200 | 201) => Closed({ data: Booking, status: Type.Integer() }, {
  examples: [{ data: { ...EXAMPLE, ...STAMPS }, status }]
})

export const BOOKING_SORTS = ['id', '-id', 'check_in', '-check_in', 'updated_at', '-updated_at'] as const

export const BookingQuery = Closed({
  q: Type.Optional(Text(100, {
    minLength: 1, description: 'Cerca in nome, codice, e-mail e telefono, e negli ospiti per nome e numero di documento'
  })),
  check_in_da: Type.Optional({ ...Day, description: 'Arrivi da questo giorno' }),
  check_in_a: Type.Optional({ ...Day, description: 'Arrivi fino a questo giorno, compreso' }),
  paese_id: Type.Optional({
    ...Id, description: 'Soltanto di questo paese: il codice numerico ISO 3166-1 (GET /api/v1/paesi)'
  }),
  stato: Type.Optional(OneOf(BOOKING_STATES, { description: 'Soltanto in questo stato; se manca, tutte' })),
  unita_id: Type.Optional({ ...Id, description: 'Soltanto di questa unità' }),
  senza_unita: Type.Optional(Type.Boolean({ description: 'Soltanto quelle da assegnare; con false, le altre' })),
  gruppo: Type.Optional(Text(50, { minLength: 1, description: 'Soltanto di questo gruppo' })),
  updated_since: Type.Optional({ ...QueryInstant, description: 'Soltanto quelle cambiate da questo istante in poi' }),
  sort: Type.Optional(OneOf(BOOKING_SORTS, {
    description: 'Secondo che cosa si ordina, con `-` dal più grande o dal più recente; se manca, `id`'
  })),
  ...pagingOrWhole
})
export type BookingQuery = Static<typeof BookingQuery>

export const BookingList = Closed({ data: Type.Array(Booking) }, { examples: [{ data: [{ ...EXAMPLE, ...STAMPS }] }] })

export const BulkDelete = Closed({ ids: Type.Array(Id, { maxItems: 10_000 }) }, { examples: [{ ids: [1, 2, 3] }] })
export const BulkDeleteResponse = Closed({ message: Type.String(), deleted: Type.Array(Id), status: Type.Integer() }, {
  examples: [{ message: '2 prenotazioni eliminate', deleted: [1, 2], status: 200 }]
})

/** An entry in FullCalendar's format. `end` is exclusive, like a check-out day. */
const CalendarEntry = Closed(
  { id: Id, title: Type.String(), start: Day, end: Day, url: Type.String(), stato: Stato },
  { $id: 'VoceCalendario' }
)
export const Calendar = Type.Array(CalendarEntry, {
  examples: [[{
    id: 1, title: 'Anna Bianchi', start: '2026-11-21', end: '2026-11-24', url: '/prenotazioni/1', stato: 'confermata'
  }]]
})

const HOUR = '([01]\\d|2[0-3])'
/**
 * FullCalendar's ISO instants (with or without offset), or plain days. A `+` that was not percent-encoded arrives as a
 * space.
 */
const CalendarBound = (description: string) => Type.Optional(Type.String({
  maxLength: 40,
  description,
  pattern: `^\\d{4}-\\d{2}-\\d{2}(T${HOUR}:[0-5]\\d(:[0-5]\\d(\\.\\d{1,9})?)?(Z|[+ -]${HOUR}:?[0-5]\\d)?)?$`,
  examples: ['2026-11-01T00:00:00+01:00']
}))
export const CalendarQuery = Closed({
  start: CalendarBound('Soggiorni che toccano i giorni da questo: un giorno, o un istante ISO 8601, di cui vale ' +
    'il giorno che vi è scritto, o con `Z` quello di Roma; se manca, dal primo'),
  end: CalendarBound('Fino al giorno prima di questo, o a questo se l’ora non è mezzanotte; si scrive come `start`; ' +
    'se manca, fino all’ultimo'),
  stato: Type.Optional(OneOf(BOOKING_STATES, {
    description: 'Le prenotazioni in questo stato; se manca, le confermate, che occupano i giorni'
  })),
  timeZone: Type.Optional(Type.String({
    maxLength: 60, description: 'Lo manda FullCalendar; non cambia la risposta: i giorni sono quelli di Roma'
  })),
  _: Type.Optional(Type.String({ maxLength: 40, description: 'Un valore sempre diverso contro le cache; è ignorato' }))
})
export type CalendarQuery = Static<typeof CalendarQuery>
