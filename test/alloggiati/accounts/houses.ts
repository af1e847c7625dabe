import type { LightMyRequestResponse } from 'fastify'
import type { GiornataResponse } from '#schemas/giornata.ts'
import type { Schedina } from '#schemas/schedina.ts'
import type { Unit } from '#schemas/unit.ts'
import { create, saveGuests } from '#test/bookings/samples.ts'
import type { TestApp } from '#test/helper.ts'

export const SECOND = { utente: 'CO000002', password: 'parola-del-porto', wskey: 'chiave-del-porto' }
export const SECRETS = [SECOND.password, SECOND.wskey]
export const DAY = '/api/v1/invii/giornata'

let names = 0

/** Functions that create establishments with accounts, units and bookings, and that send a day. */
export async function houses (server: Pick<TestApp, 'app' | 'call' | 'token'>, today: string) {
  const { app, call, token } = server
  const admin = { authorization: `Bearer ${await token({ name: 'ada', role: 'admin' })}` }
  const ask = async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object) =>
    await app.inject({ method, url, headers: admin, ...payload && { payload } })
  const police = (house: number) => `/api/v1/strutture/${house}/polizia`

  async function house (account?: object): Promise<number> {
    const made = await ask('POST', '/api/v1/strutture', { nome: `Casa ${++names}` })
    const { id } = made.json<{ data: { id: number } }>().data
    if (account) must(await ask('PUT', police(id), account), 200)
    return id
  }

  async function unit (struttura_id = 1, more: object = {}): Promise<number> {
    const room = { nome: `Camera ${++names}`, tipo: 'camera', ospiti_massimi: 6, struttura_id, ...more }
    return must(await call('POST', '/api/v1/unita', room), 201).json<{ data: Unit }>().data.id
  }

  async function book (guests: readonly Schedina[], unita_id: number | null, more: object = {}): Promise<number> {
    const booking = { check_in: today, numero_ospiti: guests.length, unita_id, ...more }
    const { id } = await create(call, { nome_cognome: `Prenotazione ${guests[0]?.cognome}`, ...booking })
    must(await saveGuests(call, id, [...guests]), 200)
    return id
  }

  const sendDay = async (body: object = {}) => must(await call('POST', DAY, body), 200).json<GiornataResponse>()

  return { admin, ask, police, house, unit, book, sendDay }
}

export function must (response: LightMyRequestResponse, status: number): LightMyRequestResponse {
  if (response.statusCode !== status) throw new Error(response.body)
  return response
}

/** The state of each booking of a day, by id. */
export function statesOf ({ prenotazioni }: GiornataResponse): Record<number, string> {
  return Object.fromEntries(prenotazioni.map(({ prenotazione_id, stato }) => [prenotazione_id, stato]))
}
