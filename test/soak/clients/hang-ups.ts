import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { API_KEY } from '#test/helper.ts'
import type { Client, Surroundings } from './client.ts'

const LONGEST_MS = 60

/** Disconnects in the middle of a response or a request body. */
export function hangUps ({ ask, random }: Surroundings, address: () => string | undefined): Client {
  async function leaveBody (): Promise<void> {
    const base = address()
    if (base === undefined) return
    const sending = request(`${base}/api/documents/upload`, {
      method: 'POST',
      agent: false,
      headers: { 'x-api-key': API_KEY, 'content-type': 'application/json', 'content-length': '100000' }
    })
    sending.on('error', () => {}).write('{"booking_id": 1, "base64Image": "')
    await sleep(random.integer(LONGEST_MS))
    sending.destroy()
  }

  const act = async () => {
    if (random.fraction() < 0.5) return await leaveBody()
    const path = random.pick(['/api/v1/prenotazioni', '/api/alloggiati/codici', '/api/v1/eventi', '/metrics'])
    await ask('GET', path, { leaveAfterMs: 1 + random.integer(LONGEST_MS) })
  }
  return { name: 'hang-ups', restMs: 700, act }
}
