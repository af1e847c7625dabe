import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClock } from '#src/lib/time.ts'
import { invio } from '#test/alloggiati/stand-in.ts'
import type { ServerProcess } from '#test/running-server.ts'
import type { ClientResponse } from './responses.ts'
import { bookingDesk, houseOf } from './booking-desk.ts'
import { corrected, person, respelled, withLeader, type Guest } from './people.ts'
import type { SeededRandom } from './seeded-random.ts'

const TRIES = 3
/** Number of concurrent lists in a rush. */
const RUSH = 6
/** Number of latest guests from which `enterAgain` chooses. */
const RECENT = 40

/**
 * Clients that submit lists of guests until they are stopped. Like users, they repeat lists and guests on any server,
 * unchanged, in another spelling or corrected. Some submit many lists concurrently, some submit whole days of bookings.
 */
export function sendingClients (random: SeededRandom, server: () => ServerProcess | undefined) {
  const responses: ClientResponse[] = []
  const state = { next: 0, stopped: false }
  const newPerson = () => person(state.next++)
  const newGuests = () => Array.from({ length: 1 + random.integer(3) }, newPerson)
  const desk = bookingDesk({ random, ask, newGuests, note: (answer) => responses.push(answer) })

  async function work (): Promise<void> {
    while (!state.stopped) {
      if (server() === undefined) {
        await sleep(20)
        continue
      }
      const kind = random.fraction()
      if (kind < 0.1) await rush()
      else if (kind < 0.25) await desk.day()
      else if (kind < 0.35) await desk.prolong()
      else await list()
      if (random.fraction() < 0.5) await enterAgain()
    }
  }

  async function list (): Promise<void> {
    const guests = newGuests()
    // A repeated request with the same Idempotency-Key gets the first response.
    const headers: Record<string, string> = random.fraction() < 0.3 ? { 'idempotency-key': randomUUID() } : {}
    for (let tries = 0; tries < TRIES && !state.stopped; tries++) {
      const answer = await submit(guests, {}, headers)
      if (answer?.status === 200 || answer?.status === 409 || random.fraction() < 0.5) break
    }
  }

  /** Submits many lists concurrently. Two of them share some guests. */
  async function rush (): Promise<void> {
    await Promise.all(Array.from({ length: RUSH }, async () => {
      const guests = newGuests()
      const otherDesk = random.fraction() < 0.3 ? submitOther(guests) : undefined
      await Promise.all([submit(guests), otherDesk])
    }))
  }

  /** Submits earlier guests again, every tenth time with a confirmation that they are other people. */
  async function enterAgain (): Promise<void> {
    const recent = Math.min(RECENT, state.next)
    const from = state.next - recent
    if (recent === 0) return
    const chosen = new Set([1, 2].map(() => from + random.integer(recent)))
    const confirmed = random.fraction() < 0.1
      ? { confermo_diverso: true, motivo: 'omonimi, documenti visti di persona' }
      : {}
    await submitOther([...chosen].map(person), confirmed)
  }

  async function submitOther (guests: readonly Guest[], more: object = {}): Promise<void> {
    const again = guests.map((one) => random.fraction() < 0.7 ? respelled(one, random) : corrected(one, random))
    await submit(withLeader(again, newPerson), more)
  }

  async function submit (
    guests: readonly Guest[],
    more: object = {},
    headers: Record<string, string> = {}
  ): Promise<ClientResponse | undefined> {
    const answer: ClientResponse = { guests: guests.map(({ n }) => n), status: undefined }
    const prenotazione = { check_in: createClock().today(), numero_notti: 3, struttura_id: houseOf(guests) }
    const body = invio(guests.map(({ schedina }) => schedina), { prenotazione, ...more })
    responses.push(answer)
    const got = await ask('/api/alloggiati/invio', body, headers)
    if (got) Object.assign(answer, got.body, { guests: answer.guests, status: got.status })
    return answer
  }

  async function ask (
    path: string, body: object, headers: Record<string, string> = {}, method: 'POST' | 'PUT' = 'POST'
  ) {
    try {
      const response = await server()?.send(method, path, body, headers)
      return response && { status: response.status, body: (await response.json()) as object }
    } catch {
      // The server was killed before its response.
      return undefined
    }
  }

  return { responses, work, stop: () => { state.stopped = true } }
}
