import { randomUUID } from 'node:crypto'
import { addDays, createClock } from '#src/lib/time.ts'
import type { Ask, ClientResponse } from './responses.ts'
import { corrected, type Guest } from './people.ts'
import type { SeededRandom } from './seeded-random.ts'

/** Number of bookings created per day. */
const ARRIVALS = 3
/** The status and code that `check-records.ts` reads, for each outcome in the day's response. */
const RESULTS: Record<string, { status: number, codice?: string }> = {
  acquisita: { status: 200 },
  non_inviata: { status: 422, codice: 'NON_INVIATA' },
  rifiutata: { status: 422, codice: 'RIFIUTATA' }
}

/** The establishment of a list, 1 or 2. A guest who is entered again with others may have the other one. */
export function houseOf (guests: readonly Guest[]): number {
  return 1 + guests[0]!.n % 2
}

interface Booking { id: number, guests: readonly Guest[] }
interface DayResponse { prenotazioni?: { prenotazione_id: number, stato: string, ricevute?: string[] }[] }

interface Surroundings {
  random: SeededRandom
  ask: Ask
  newGuests: () => Guest[]
  note: (response: ClientResponse) => void
}

/**
 * A client that saves bookings with guests, submits the day immediately, and corrects guests afterwards. Some stays are
 * prolonged, some bookings are cancelled, and some guests arrive later or depart earlier than the booking.
 */
export function bookingDesk ({ random, ask, newGuests, note }: Surroundings) {
  async function day (): Promise<void> {
    const saved = await Promise.all(Array.from({ length: ARRIVALS }, () => save(newGuests())))
    const bookings = saved.filter((one) => one !== undefined)
    if (bookings.length === 0) return
    // Sometimes two users submit the same day.
    await Promise.all([sendDay(bookings), random.fraction() < 0.3 ? sendDay(bookings) : undefined])
    if (random.fraction() < 0.5) await correct(random.pick(bookings))
  }

  /** Sends a booking of yesterday, then prolongs or cancels it. Sends the new nights, sometimes in two requests. */
  async function prolong (): Promise<void> {
    const dal = createClock().today()
    const booking = await save(newGuests(), { check_in: addDays(dal, -1), numero_notti: 1 })
    if (booking === undefined) return
    await send(booking)
    const cancelled = random.fraction() < 0.2 ? change(booking, { stato: 'annullata' }) : undefined
    await Promise.all([cancelled, change(booking, { check_out: addDays(dal, 2) })])
    await Promise.all([send(booking, { dal }), random.fraction() < 0.3 ? send(booking, { dal }) : undefined])
  }

  async function save (guests: readonly Guest[], stay: object = {}): Promise<Booking | undefined> {
    const today = createClock().today()
    const unita_id = await unit(houseOf(guests))
    if (unita_id === undefined) return undefined
    const booked = await ask('/api/v1/prenotazioni', {
      nome_cognome: 'Ospite di Prova',
      lingua: 'IT',
      paese_id: 380,
      check_in: today,
      numero_notti: 3,
      numero_ospiti: guests.length,
      unita_id,
      ...stay
    })
    if (booked?.status !== 201) return undefined
    const { data: { id } } = booked.body as { data: { id: number } }
    const days = random.pick([{}, {}, { partenza: addDays(today, 1) }, { arrivo: addDays(today, 1) }])
    return await saveGuests(id, guests, 'check_in' in stay ? {} : days) ? { id, guests } : undefined
  }

  /** A new unit for each booking, because all stay in the same nights. */
  async function unit (struttura_id: number): Promise<number | undefined> {
    const room = { nome: randomUUID(), tipo: 'camera', ospiti_massimi: 9, struttura_id }
    const made = await ask('/api/v1/unita', room)
    return made?.status === 201 ? (made.body as { data: { id: number } }).data.id : undefined
  }

  function change ({ id }: Booking, fields: object) {
    return ask(`/api/v1/prenotazioni/${id}`, fields, {}, 'PUT')
  }

  async function send ({ id, guests }: Booking, body: object = {}): Promise<void> {
    const got = await ask(`/api/v1/prenotazioni/${id}/invio`, body)
    note({ ...got?.body, guests: guests.map(({ n }) => n), status: got?.status })
  }

  /** @param days the own days of the last guest, if there are several guests */
  async function saveGuests (id: number, guests: readonly Guest[], days: object = {}): Promise<boolean> {
    const last = guests.length - 1
    const dati = guests.map(({ schedina }, at) => at > 0 && at === last ? { ...schedina, ...days } : schedina)
    const saved = await ask('/api/saveOspiti', { prenotazione_id: id, dati })
    return saved?.status === 200
  }

  async function sendDay (bookings: readonly Booking[]): Promise<void> {
    const got = await ask('/api/v1/invii/giornata', { prenotazioni: bookings.map(({ id }) => id) })
    for (const { prenotazione_id, stato, ricevute } of (got?.body as DayResponse | undefined)?.prenotazioni ?? []) {
      const { guests } = bookings.find(({ id }) => id === prenotazione_id)!
      note({
        guests: guests.map(({ n }) => n),
        status: undefined,
        ...RESULTS[stato],
        ...(ricevute?.[0] === undefined ? {} : { ricevuta: ricevute[0] })
      })
    }
  }

  /** Corrects a guest's birth date or surname, and submits the booking again. */
  async function correct (booking: Booking): Promise<void> {
    const { id, guests } = booking
    const at = random.integer(guests.length)
    const changed = guests.with(at, corrected(guests[at]!, random))
    if (await saveGuests(id, changed)) await send(booking)
  }

  return { day, prolong }
}
