import type { FastifyInstance } from 'fastify'
import type { Booking } from '#schemas/booking.ts'
import type { Unit } from '#schemas/unit.ts'
import { build } from '#src/app.ts'
import type { Config } from '#src/config/config.ts'
import { firstAdministrator } from '#src/identity/index.ts'
import { addDays, createClock, dayInRome, instantInRome, type Clock } from '#src/lib/time.ts'
import { BLOCK, BOOKINGS, countryIdOf, guestsOf, HOUSE, UNITS } from './demo-house.ts'

/** The hour at which the demo sends guests. */
const EVENING = 18
/** The earliest hour at which it fetches receipts. */
const MORNING = 7
/** Jobs that fetch the receipts of past days, and compare them with the submissions. */
const RECEIPT_JOBS = ['receipts', 'reconciliation']

type Call = <T>(method: 'POST' | 'PUT', url: string, payload: object) => Promise<T>

/**
 * Fills an empty installation through its own API. The clock moves through the past days. In the evening of each day
 * of arrival the demo sends the guests to the sandbox. Today it fetches the receipts.
 * @param signal stops the work
 */
export async function fillHouse (config: Config, signal: AbortSignal): Promise<void> {
  const clock = movableClock(config)
  const app = await build({ config, clock, signal })
  try {
    await firstAdministrator(app, config)
    const call = await caller(app, config, signal)
    await fill(call, clock)
    // Otherwise the account page lists this session as an unknown device.
    await call('POST', '/auth/v1/logout', {})
  } finally {
    await app.close()
  }
}

interface MovableClock extends Clock {
  /** The day of the demo. */
  start: string
  moveTo: (instant: Date) => void
}

function movableClock ({ TODAY }: Config): MovableClock {
  const clock = createClock(TODAY)
  const morning = instantInRome(clock.today(), MORNING)
  let [now, since] = [new Date(Math.max(clock.now().getTime(), morning.getTime())), Date.now()]
  const read = () => new Date(now.getTime() + Date.now() - since)
  return {
    start: clock.today(),
    now: read,
    today: () => dayInRome(read()),
    moveTo (instant) {
      [now, since] = [instant, Date.now()]
    }
  }
}

async function caller (
  app: FastifyInstance, { ADMIN_EMAIL: email, ADMIN_PASSWORD: password }: Config, signal: AbortSignal
): Promise<Call> {
  const send = async <T>(method: 'POST' | 'PUT', url: string, payload: object, token?: string): Promise<T> => {
    signal.throwIfAborted()
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const response = await app.inject({ method, url, payload, headers })
    if (response.statusCode >= 400) throw new Error(`${method} ${url}: ${response.statusCode} ${response.body}`)
    return response.statusCode === 204 ? undefined as T : response.json<T>()
  }
  const url = '/auth/v1/token?grant_type=password'
  const { access_token } = await send<{ access_token: string }>('POST', url, { email, password })
  return async (method, path, payload) => await send(method, path, payload, access_token)
}

async function fill (call: Call, clock: MovableClock): Promise<void> {
  const { start: today } = clock
  const now = clock.now()
  await call('PUT', '/api/v1/strutture/1', HOUSE)
  await call('POST', '/api/v1/strutture/1/polizia/prova', {})
  const units = new Map<string, number>()
  for (const unit of UNITS) {
    const { data: { id, nome } } = await call<{ data: Unit }>('POST', '/api/v1/unita', unit)
    units.set(nome, id)
  }
  await call('POST', '/api/v1/blocchi', {
    unita_id: units.get(BLOCK.unit),
    dal: addDays(today, BLOCK.from),
    al: addDays(today, BLOCK.to),
    motivo: BLOCK.motivo,
    note: BLOCK.note
  })
  for (const at of BOOKINGS.keys()) await book(call, at, { units, today })
  const past = [...new Set(BOOKINGS.map(({ start }) => start))].filter((start) => start < 0).sort((a, b) => a - b)
  for (const start of past) {
    const day = addDays(today, start)
    clock.moveTo(instantInRome(day, EVENING))
    await call('POST', '/api/v1/invii/giornata', { data: day })
  }
  clock.moveTo(now)
  for (const job of RECEIPT_JOBS) await call('POST', `/api/v1/jobs/${job}/avvia`, {})
}

async function book (
  call: Call, at: number, { units, today }: { units: ReadonlyMap<string, number>, today: string }
): Promise<void> {
  const booking = BOOKINGS[at]!
  const { unit, start, nights, country, surname, guests, channel, state } = booking
  const { data: { id } } = await call<{ data: Booking }>('POST', '/api/v1/prenotazioni', {
    nome_cognome: `${guests[0]!.name} ${surname}`,
    lingua: country === 'IT' || country === 'FR' || country === 'DE' ? country : 'EN',
    paese_id: countryIdOf(booking),
    email: `${surname.toLowerCase().replaceAll(' ', '.')}@example.com`,
    check_in: addDays(today, start),
    numero_notti: nights,
    numero_ospiti: guests.length,
    unita_id: unit === undefined ? null : units.get(unit),
    canale: channel,
    prezzo: nights * (7000 + guests.length * 1500),
    stato: state
  })
  const dati = guestsOf(booking, at)
  if (dati.length > 0) await call('POST', '/api/saveOspiti', { prenotazione_id: id, dati })
}
