import type { FastifyInstance } from 'fastify'
import type { BookingDetail } from '#schemas/booking.ts'
import type { Event } from '#schemas/event.ts'
import type { DayState } from '#schemas/giornata.ts'
import type { Invio } from '#schemas/invio.ts'
import type { Letter } from '#schemas/letter.ts'
import type { HeldData } from '#schemas/privacy.ts'
import type { Segnalazione } from '#schemas/schedina.ts'
import type { State } from '#schemas/submission.ts'
import type { Unit } from '#schemas/unit.ts'
import { filingDeadline, type Registration } from '#src/alloggiati/index.ts'
import { savedGuests, staysOfDay, type SavedGuest } from '#src/bookings/index.ts'
import { addDays, type Clock, type Day } from '#src/lib/time.ts'
import type { Desk } from '../desk-page.ts'

/** Maximum events that are read for the log, from the oldest. */
const EVENTS = 200
/** States that need no receipt any more. */
const SETTLED: readonly State[] = ['ricevuto', 'depositato_altrove', 'annullato', 'non_inviato', 'rifiutato']

/** The data of a booking's page. */
export interface BookingData {
  booking: BookingDetail
  etag: string | undefined
  guests: readonly SavedGuest[]
  /** Absent when the booking is not confirmed. */
  registration: Registration | undefined
  /** A receipt covers a submission of the booking, and no submission waits for its result or receipt. */
  isReceived: boolean
  /** The legal deadline for sending the guests. */
  deadline: Date
  isLate: boolean
  unit: string | undefined
  /** The free units, while the booking has no unit. */
  freeUnits: readonly Unit[]
  letter: Letter | null
  images: readonly Pick<HeldData, 'ospite' | 'lato'>[]
  events: readonly Event[]
}

/** States in which every guest was sent. */
export const SENT_STATES: readonly DayState[] = ['gia_inviata', 'acquisita']
/** States in which the person can only wait. */
export const OPEN_STATES: readonly DayState[] = ['in_corso', 'sconosciuta']

/** The saved guests of a booking. Call it only for a signed-in person. */
export async function guestsOf ({ db }: Pick<FastifyInstance, 'db'>, id: number): Promise<readonly SavedGuest[]> {
  return (await savedGuests(db, [id])).get(id) ?? []
}

/** @throws Refusal when the booking does not exist */
export async function readBooking (desk: Desk, id: number, clock: Clock): Promise<BookingData> {
  const today = clock.today()
  const { server } = desk.request
  const get = async <T>(url: string) => await desk.call<T>({ method: 'GET', url })
  const { body: { data: booking }, etag } = await get<{ data: BookingDetail }>(`/api/v1/prenotazioni/${id}`)
  const { check_in, check_out, numero_notti: nights, unita_id: unit } = booking
  const day = registrationDay(booking, today)
  const [guests, stays, letter, privacy, events, submissions, free] = await Promise.all([
    guestsOf(server, id),
    staysOfDay(server.db, day),
    get<{ data: Letter | null }>(`/api/lettere-benvenuto/${id}`),
    get<{ data: { conservati: HeldData[] } }>(`/api/v1/prenotazioni/${id}/privacy`),
    get<{ data: Event[] }>(`/api/v1/eventi?prenotazione_id=${id}&limit=${EVENTS}`),
    get<{ data: Invio[] }>(`/api/v1/invii?prenotazione_id=${id}`),
    unit === null && check_out > today
      ? get<{ data: Unit[] }>(`/api/v1/unita/disponibilita?da=${check_in}&a=${check_out}`)
      : undefined
  ])
  const stay = stays.find((each) => each.id === id)
  const deadline = filingDeadline(check_in, nights)
  const states = submissions.body.data.map(({ stato }) => stato)
  return {
    booking,
    etag,
    guests,
    registration: stay && (await server.registrations(day, [stay])).get(id),
    isReceived: states.includes('ricevuto') && states.every((stato) => SETTLED.includes(stato)),
    deadline,
    isLate: deadline < clock.now(),
    unit: stay?.unita?.nome,
    freeUnits: free?.body.data ?? [],
    letter: letter.body.data,
    images: privacy.body.data.conservati.filter(({ cosa }) => cosa === 'immagine_documento'),
    events: events.body.data.toReversed()
  }
}

/** The day whose registration the page shows: today during the stay, else the first or last night. */
function registrationDay ({ check_in, check_out }: BookingDetail, today: Day): Day {
  if (today <= check_in) return check_in
  return today < check_out ? today : addDays(check_out, -1)
}

/** The remarks about the stay, which belong to no field of a guest. */
export function stayRemarks ({ registration }: BookingData): Segnalazione[] {
  return (registration?.errors ?? []).filter(({ campo }) => STAY_FIELDS.includes(campo))
}

const STAY_FIELDS: readonly string[] = ['check_in', 'check_out', 'numero_notti', 'id_appartamento']
