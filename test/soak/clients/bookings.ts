import type { Client, Surroundings } from './client.ts'
import { stays } from './stays.ts'

const GUESTS = [
  { nome: 'Anna', cognome: 'Prova', sesso: 'F', data_nascita: '1985-04-12' },
  { nome: 'Bruno', cognome: 'Prova', sesso: 'M', data_nascita: '1984-01-30' }
]

/** Creates, changes, reads and deletes bookings with guests. After a change, the booking must be returned with it. */
export function bookings (surroundings: Surroundings): Client {
  const { ask, random, surprise } = surroundings
  const { create, remove } = stays(surroundings)

  async function act (): Promise<void> {
    const stay = await create()
    if (!stay) return
    const path = `/api/v1/prenotazioni/${stay.id}`
    await ask('POST', '/api/saveOspiti', { body: { prenotazione_id: stay.id, dati: GUESTS } })
    const telefono = `+39 055 ${random.integer(1_000_000)}`
    const changed = await ask('PUT', path, { body: { telefono } })
    const read = await ask('GET', path)
    const isKept = read?.json<{ data: { telefono: string } }>().data.telefono === telefono
    if (changed && read && !isKept) surprise('a change of a booking is not read back')
    await remove(stay)
  }
  return { name: 'bookings', restMs: 350, act }
}
