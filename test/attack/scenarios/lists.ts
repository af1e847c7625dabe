import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { API_KEY } from '#test/helper.ts'
import { bounded, type Scenario } from '../scenario.ts'
import { fillBookings, startTarget, type Target } from '../target.ts'

const ROWS = 200_000
const CALLERS = 60
const LISTS = ['/api/prenotazioni', '/api/alloggiati/verifica-ricevute?da=2020-01-01&a=2026-11-21']
/** Maximum growth of memory in megabytes, compared with the idle server. */
const MEMORY = 250

/** Many clients read full lists concurrently, and other clients request lists and never read them. */
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
      const { accepted, cut } = await outcome(silent, 45_000)
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
          'never read': accepted,
          cut
        },
        faults: [
          ...bounded('MB more', peak, MEMORY),
          ...bounded('lists that nobody reads and that were not cut', accepted - cut, 0),
          ...(accepted === 0 ? ['no list was begun for those who never read'] : []),
          ...(isReady ? [] : ['not ready any more']),
          ...(answered === 0 ? ['no list was served'] : []),
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

/** Waits without reading. Returns how many lists were started, and how many of their connections the server closed. */
async function outcome (sockets: readonly Socket[], ms: number): Promise<{ accepted: number, cut: number }> {
  const accepted = new Set<Socket>()
  const closed = new Set<Socket>()
  for (const socket of sockets) {
    socket.once('data', (head) => { if (String(head).startsWith('HTTP/1.1 200')) accepted.add(socket) })
    socket.on('close', () => closed.add(socket))
  }
  await sleep(ms)
  // A paused socket notices its end only when it is read. After a complete list the connection stays open.
  for (const socket of sockets) socket.resume()
  await sleep(2000)
  return { accepted: accepted.size, cut: [...accepted].filter((socket) => closed.has(socket)).length }
}
