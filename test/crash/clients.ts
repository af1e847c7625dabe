import type { Schedina } from '#schemas/schedina.ts'
import { guestNo, invio } from '#test/alloggiati/stand-in.ts'
import type { ServerProcess } from '#test/running-server.ts'
import type { SeededRandom } from './seeded-random.ts'

/** The answer that a client got for a list of guests. */
export interface ClientAnswer {
  /** Numbers of the guests, in order. */
  guests: readonly number[]
  /** Undefined: the connection ended before the answer. */
  status: number | undefined
  codice?: string
  ricevuta?: string
  /** The row outcomes of the guests, where the answer has them. */
  schedine?: { ospite: number, esito: string }[]
}

const TRIES = 3

/**
 * Clients that send lists of new guests until they are stopped. As people do, they sometimes send a list again that was
 * not acquired, to the same or to another server. Every answer is kept.
 */
export function sendingClients (random: SeededRandom, server: () => ServerProcess | undefined) {
  const answers: ClientAnswer[] = []
  const state = { next: 0, stopped: false }

  async function work (): Promise<void> {
    while (!state.stopped) {
      const guests = Array.from({ length: 1 + random.integer(3) }, () => state.next++)
      for (let tries = 0; tries < TRIES && !state.stopped; tries++) {
        const answer = await submit(guests)
        if (answer?.status === 200 || answer?.status === 409 || random.fraction() < 0.5) break
      }
    }
  }

  async function submit (guests: readonly number[]): Promise<ClientAnswer | undefined> {
    const reached = server()
    if (reached === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      return undefined
    }
    const answer: ClientAnswer = { guests, status: undefined }
    answers.push(answer)
    try {
      const response = await reached.post('/api/alloggiati/invio', invio(guests.map((n): Schedina => guestNo(n))))
      Object.assign(
        answer,
        { status: response.status, ...((await response.json()) as object) },
        { guests, status: response.status }
      )
    } catch {
      // The server died before it answered.
    }
    return answer
  }

  return { answers, work, stop: () => { state.stopped = true } }
}
