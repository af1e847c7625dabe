import type { LightMyRequestResponse } from 'fastify'
import type { Booking, BookingDetail } from '#schemas/booking.ts'
import type { ErrorBody } from '#schemas/common.ts'
import type { GuestInput } from '#schemas/guest.ts'
import type { TestApp } from '#test/helper.ts'

type Call = TestApp['call']

export const BOOKINGS = '/api/v1/prenotazioni'
export const CALENDAR = '/api/prenotazioni'

/** A booking to create, with changes. Undefined omits a field. */
export function booking (changes: Record<string, unknown> = {}): object {
  return {
    nome_cognome: 'Anna Bianchi',
    lingua: 'IT',
    paese_id: 380,
    check_in: '2026-11-21',
    numero_notti: 3,
    numero_ospiti: 2,
    ...changes
  }
}

export async function create (call: Call, changes: Record<string, unknown> = {}): Promise<Booking> {
  const response = await call('POST', BOOKINGS, booking(changes))
  if (response.statusCode !== 201) throw new Error(`${response.statusCode} ${response.body}`)
  return response.json<{ data: Booking }>().data
}

/** A booking as stored. */
export async function read (call: Call, id: number): Promise<BookingDetail> {
  const response = await call('GET', `${BOOKINGS}/${id}`)
  if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${response.body}`)
  return response.json<{ data: BookingDetail }>().data
}

export async function list (call: Call, query = ''): Promise<Booking[]> {
  const response = await call('GET', `${BOOKINGS}${query}`)
  if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${response.body}`)
  return response.json<{ data: Booking[] }>().data
}

/** The fields that a 400 names. Empty for any other response. */
export function fieldsAtFault (response: LightMyRequestResponse): string[] {
  const { status, dettagli = [] } = response.json<ErrorBody>()
  return response.statusCode === 400 && status === 400 ? dettagli.map(({ campo }) => campo) : []
}

/** This number of invented guests. */
export function guests (count: number, changes: Partial<GuestInput> = {}): GuestInput[] {
  return Array.from({ length: count }, (_, index) => ({ nome: `Nome ${index}`, cognome: 'Prova', ...changes }))
}

export function saveGuests (call: Call, prenotazione_id: number, dati: object[], headers?: Record<string, string>) {
  return call('POST', '/api/saveOspiti', { prenotazione_id, dati }, headers)
}
