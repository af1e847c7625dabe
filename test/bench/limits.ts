import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { compareCpu, interleaved, within, type BenchResult } from './harness.ts'
import { againstQuiet, p95 } from './percentile.ts'
import { API_KEY, type Running } from './process.ts'
import { DETAIL, load } from './requests.ts'

/** Measures the cost of rate limit and Idempotency-Key on a plain GET. */
export async function costOfLimits (limited: Running, unlimited: Running): Promise<BenchResult> {
  const spent: Record<'limited' | 'unlimited', number[]> = { limited: [], unlimited: [] }
  const result = within(1.1, await interleaved(
    'detail: time with rate limit and Idempotency-Key / without',
    () => load(limited, DETAIL, spent.limited),
    () => load(unlimited, DETAIL, spent.unlimited),
    { rounds: 9, warmUps: 2, spent }
  ))
  return { ...result, detail: `${result.detail}; ${compareCpu(spent.limited, spent.unlimited)}` }
}

const SLOW_CLIENTS = 200
/** The measurement begins this long after the clients start to connect. */
const SETTLE_MS = 1500

/** Compares the p95 of a plain GET among 200 clients that send one byte per second with the p95 on a quiet server. */
export async function amongSlowClients (server: Running): Promise<BenchResult> {
  const name = `detail: p95 among ${SLOW_CLIENTS} clients that send a byte a second / quiet`
  return await againstQuiet(name, server, async () => {
    const clients = slowClients(server)
    await sleep(SETTLE_MS)
    const among = await p95(server)
    const open = clients.open()
    clients.end()
    if (open < SLOW_CLIENTS * 0.9) throw new Error(`only ${open} slow clients were connected`)
    return among
  })
}

const HEAD = `POST /api/v1/prenotazioni HTTP/1.1\r\nHost: x\r\nx-api-key: ${API_KEY}\r\n` +
  'Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n'

/** Half of the clients send a header, half a body, at one byte per second. They reconnect when disconnected. */
function slowClients ({ url }: Running) {
  const sockets: (Socket | undefined)[] = []
  const join = (at: number) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.on('error', () => {})
    if (at % 2 === 0) socket.write(HEAD)
    sockets[at] = socket
  }
  for (let at = 0; at < SLOW_CLIENTS; at++) join(at)
  const sending = setInterval(() => {
    for (const [at, socket] of sockets.entries()) {
      if (socket === undefined || socket.destroyed) join(at)
      else socket.write('x')
    }
  }, 1000)
  return {
    open: () => sockets.filter((socket) => socket?.readyState === 'open').length,
    end () {
      clearInterval(sending)
      for (const socket of sockets) socket?.destroy()
    }
  }
}
