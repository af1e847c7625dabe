import type { Schedina } from '#schemas/schedina.ts'
import { guestNo, invio } from '#test/alloggiati/stand-in.ts'
import type { ServerProcess } from '#test/running-server.ts'
import type { Chance } from './chance.ts'

/** What a client was told of a list of guests. */
export interface Told {
  /** Numbers of the guests, in order. */
  guests: readonly number[]
  /** Undefined: the connection ended without an answer. */
  status: number | undefined
  codice?: string
  ricevuta?: string
  /** Outcome of each guest, where the answer had them. */
  schedine?: { ospite: number, esito: string }[]
}

const TRIES = 3

/**
 * Enters guests, each list another one, until it is told to stop; a list that was not acquired is tried again now and
 * then, by the same or another server, as people do. Remembers every answer.
 */
export function client (chance: Chance, server: () => ServerProcess | undefined) {
  const told: Told[] = []
  const state = { next: 0, stopped: false }

  async function work (): Promise<void> {
    while (!state.stopped) {
      const guests = Array.from({ length: 1 + chance.whole(3) }, () => state.next++)
      for (let tries = 0; tries < TRIES && !state.stopped; tries++) {
        const answer = await submit(guests)
        if (answer?.status === 200 || answer?.status === 409 || chance.number() < 0.5) break
      }
    }
  }

  async function submit (guests: readonly number[]): Promise<Told | undefined> {
    const reached = server()
    if (reached === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      return undefined
    }
    const answer: Told = { guests, status: undefined }
    told.push(answer)
    try {
      const response = await reached.post('/api/alloggiati/invio', invio(guests.map((n): Schedina => guestNo(n))))
      Object.assign(
        answer,
        { status: response.status, ...((await response.json()) as object) },
        { guests, status: response.status }
      )
    } catch {
      // It died before it had answered.
    }
    return answer
  }

  return { told, work, stop: () => { state.stopped = true } }
}
