import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { API_KEY } from '#test/helper.ts'
import { bounded, type Scenario } from '../scenario.ts'
import { fillBookings, startTarget, type Target } from '../target.ts'

const ROWS = 200_000
const CALLERS = 60
const LISTS = ['/api/prenotazioni', '/api/alloggiati/verifica-ricevute?da=2020-01-01&a=2026-11-21']
/** Megabytes above what the server takes when it is idle. */
const MEMORY = 250

/** Full lists that many read at a time, and that others ask for and never read. */
export const lists: Scenario = {
  name: 'full lists of 200,000 bookings',
  async run () {
    const target = await startTarget()
    try {
      await fillBookings(target.sql, ROWS)
      await target.get('/api/prenotazioni?limit=10')
      const idle = target.memory().now
      const statuses = await Promise.all(Array.from({ length: CALLERS }, (_, n) => read(target, LISTS[n % 2]!)))
      const afterReading = target.memory().peak - idle
      const silent = Array.from({ length: CALLERS }, (_, n) => neverReads(target, LISTS[n % 2]!))
      const [cut] = await Promise.all([closed(silent, 45_000), sleep(10_000)])
      const peak = target.memory().peak - idle
      const isReady = (await target.get('/health/ready')).ok
      for (const socket of silent) socket.destroy()
      const answered = statuses.filter((status) => status === 200).length
      return {
        figures: {
          callers: CALLERS,
          answered,
          refused: statuses.filter((status) => status === 429 || status === 503).length,
          'MB more, readers': Math.round(afterReading),
          'MB more, others': Math.round(peak),
          cut
        },
        faults: [
          ...bounded('MB more', peak, MEMORY),
          ...(isReady ? [] : ['not ready any more']),
          ...(answered === 0 ? ['no list was answered'] : []),
          ...(statuses.every((status) => [200, 429, 503].includes(status)) ? [] : [`answers ${statuses.join()}`])
        ]
      }
    } finally {
      await target.stop()
    }
  }
}

async function read (target: Target, path: string): Promise<number> {
  const response = await target.get(path)
  for await (const chunk of response.body ?? []) void chunk
  return response.status
}

function neverReads ({ port }: Target, path: string): Socket {
  const socket = connect(port, '127.0.0.1').pause()
  socket.on('error', () => {})
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${API_KEY}\r\n\r\n`)
  return socket
}

/** @returns how many are closed by the server within the time */
async function closed (sockets: readonly Socket[], ms: number): Promise<number> {
  const isClosed = new Set<Socket>()
  for (const socket of sockets) socket.on('close', () => isClosed.add(socket))
  await sleep(ms)
  // A socket that is not read does not see its end before it is.
  for (const socket of sockets) socket.resume()
  await sleep(2000)
  return isClosed.size
}
