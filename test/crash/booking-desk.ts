import { createClock } from '#src/lib/time.ts'
import type { Ask, ClientAnswer } from './responses.ts'
import { corrected, type Guest } from './people.ts'
import type { SeededRandom } from './seeded-random.ts'

/** Bookings created per day. */
const ARRIVALS = 3
/** For each outcome of the day's response, the status and code that `check-records.ts` understands. */
const SAID: Record<string, { status: number, codice?: string }> = {
  acquisita: { status: 200 },
  non_inviata: { status: 422, codice: 'NON_INVIATA' },
  rifiutata: { status: 422, codice: 'RIFIUTATA' }
}

interface Booking { id: number, guests: readonly Guest[] }
interface DayAnswer { prenotazioni?: { prenotazione_id: number, stato: string, ricevute?: string[] }[] }

interface Surroundings {
  random: SeededRandom
  ask: Ask
  newGuests: () => Guest[]
  note: (response: ClientAnswer) => void
}

/** A client that saves bookings with guests, submits the day at once, and corrects guests afterwards. */
export function bookingDesk ({ random, ask, newGuests, note }: Surroundings) {
  async function day (): Promise<void> {
    const saved = await Promise.all(Array.from({ length: ARRIVALS }, () => save(newGuests())))
    const bookings = saved.filter((one) => one !== undefined)
    if (bookings.length === 0) return
    // Sometimes two users submit the same day.
    await Promise.all([sendDay(bookings), random.fraction() < 0.3 ? sendDay(bookings) : undefined])
    if (random.fraction() < 0.5) await correct(random.pick(bookings))
  }

  async function save (guests: readonly Guest[]): Promise<Booking | undefined> {
    const booked = await ask('/api/v1/prenotazioni', {
      nome_cognome: 'Ospite di Prova',
      lingua: 'IT',
      paese_id: 380,
      check_in: createClock().today(),
      numero_notti: 3,
      numero_ospiti: guests.length
    })
    if (booked?.status !== 201) return undefined
    const { data: { id } } = booked.body as { data: { id: number } }
    return await saveGuests(id, guests) ? { id, guests } : undefined
  }

  async function saveGuests (id: number, guests: readonly Guest[]): Promise<boolean> {
    const saved = await ask('/api/saveOspiti', { prenotazione_id: id, dati: guests.map(({ schedina }) => schedina) })
    return saved?.status === 200
  }

  async function sendDay (bookings: readonly Booking[]): Promise<void> {
    const got = await ask('/api/v1/invii/giornata', { prenotazioni: bookings.map(({ id }) => id) })
    for (const { prenotazione_id, stato, ricevute } of (got?.body as DayAnswer | undefined)?.prenotazioni ?? []) {
      const { guests } = bookings.find(({ id }) => id === prenotazione_id)!
      note({
        guests: guests.map(({ n }) => n),
        status: undefined,
        ...SAID[stato],
        ...(ricevute?.[0] === undefined ? {} : { ricevuta: ricevute[0] })
      })
    }
  }

  /** Corrects a guest's birth date or surname, and submits the booking again. */
  async function correct ({ id, guests }: Booking): Promise<void> {
    const at = random.integer(guests.length)
    const changed = guests.with(at, corrected(guests[at]!, random))
    if (!await saveGuests(id, changed)) return
    const got = await ask(`/api/v1/prenotazioni/${id}/invio`, {})
    note({ ...got?.body, guests: guests.map(({ n }) => n), status: got?.status })
  }

  return { day }
}
