import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, bearer, signIn } from '../requests.ts'
import { bounded, timed, type Scenario } from '../scenario.ts'
import { onTarget, startTarget, type Target } from '../target.ts'

/* Clients of one network slowly use up shared resources. The server must still serve a caller of another network. */

const SLOW = 40
/** Maximum large bodies, and maximum downloads, of one client network without credentials. */
const SHARE = 16
const VICTIM = { 'x-forwarded-for': '198.51.100.7' }
const PROXIED = { TRUST_PROXY: '127.0.0.1', RATE_LIMIT_LOGIN_MAX: '1000' }

/** Opens slow connections from one /64, each with another IP. */
function openSlow ({ port }: Target, request: string): Socket[] {
  return Array.from({ length: SLOW }, (_, n) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.write(`${request}\r\nHost: localhost\r\nX-Forwarded-For: 2001:db8::${n + 1}\r\n`)
    return socket
  })
}

interface Slow { socket: Socket, head: string, isClosed: boolean }

function watch (sockets: readonly Socket[]): Slow[] {
  return sockets.map((socket) => {
    const slow = { socket, head: '', isClosed: false }
    socket.once('data', (head) => { slow.head = String(head).slice(0, 12) })
    socket.once('close', () => { slow.isClosed = true })
    return slow
  })
}

const count = <T>(list: readonly T[], is: (each: T) => boolean) => list.filter(is).length

function judge (slow: readonly Slow[], served: number, ms: number, mostMs: number) {
  const refused = count(slow, ({ head }) => head.endsWith('503'))
  const taken = SLOW - refused
  const kept = count(slow, ({ head, isClosed }) => !head.endsWith('503') && !isClosed)
  return {
    figures: { slow: SLOW, taken, refused, 'cut off': taken - kept, 'another caller': served, 'ms until cut': ms },
    faults: [
      ...bounded('taken by one network', taken, SHARE),
      ...bounded('ms until cut', ms, mostMs),
      ...bounded('not cut off', kept, 0),
      ...(served === 200 ? [] : [`another caller was answered with ${served}`])
    ]
  }
}

/** Waits until every connection that was not refused is closed. @returns the milliseconds, rounded */
async function untilCut (slow: readonly Slow[], mostMs: number): Promise<number> {
  const over = AbortSignal.timeout(mostMs + 5000)
  return Math.round(await timed(async () => {
    while (!over.aborted && slow.some(({ head, isClosed }) => !head.endsWith('503') && !isClosed)) await sleep(100)
  }))
}

/** Bodies without length that send a byte per second, to a route that needs no credentials. */
export const slowBodies: Scenario = {
  name: `${SLOW} slow bodies of one network`,
  run: async () => await onTarget(PROXIED, async (target) => {
    const sockets = openSlow(target, 'POST /auth/v1/token?grant_type=password HTTP/1.1')
    for (const socket of sockets) {
      socket.write('Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n')
    }
    const slow = watch(sockets)
    const dripping = setInterval(() => { for (const { socket } of slow) socket.write('1\r\n \r\n') }, 1000)
    await sleep(1000)
    const { ADMIN_EMAIL = '', ADMIN_PASSWORD = '' } = target.env
    const { status } = await signIn(target, ADMIN_EMAIL, ADMIN_PASSWORD, VICTIM)
    const ms = await untilCut(slow, 20_000)
    clearInterval(dripping)
    for (const { socket } of slow) socket.destroy()
    return judge(slow, status, ms, 20_000)
  })
}

/** Signed links to a large file that nobody reads. */
export const slowLinks: Scenario = {
  name: `${SLOW} signed links that one network does not read`,
  run: async () => await onTarget(PROXIED, async (target) => {
    const service = bearer(target.serviceKey)
    await ask(target, 'POST', '/storage/v1/object/public/grande.bin', service, Buffer.alloc(40 * 1024 ** 2, 'x'))
    const { answer: { signedURL } } = await ask<{ signedURL: string }>(
      target, 'POST', '/storage/v1/object/sign/public/grande.bin', service, { expiresIn: 600 }
    )
    const path = `/storage/v1${signedURL}`
    const sockets = openSlow(target, `GET ${path} HTTP/1.1`)
    const slow = watch(sockets)
    for (const { socket } of slow) socket.write('\r\n')
    await sleep(2000)
    for (const { socket } of slow) socket.pause()
    const { status } = await ask(target, 'GET', path, VICTIM)
    await sleep(45_000)
    // A paused socket notices its end only when read.
    for (const { socket } of slow) socket.resume()
    const ms = await untilCut(slow, 45_000)
    for (const { socket } of slow) socket.destroy()
    return judge(slow, status, ms, 5000)
  })
}

/** Idle connections of one IP, while another IP sends a request. */
export const shares: Scenario = {
  name: 'connections of one address',
  async run () {
    const files = 1024
    const target = await startTarget({}, files)
    try {
      const sockets = Array.from({ length: files / 2 }, () => connect(target.port, '127.0.0.1').on('error', () => {}))
      const slow = watch(sockets)
      await sleep(1500)
      const taken = count(slow, ({ isClosed }) => !isClosed)
      const isServed = await new Promise<boolean>((resolve) => {
        const other = connect({ port: target.port, host: '127.0.0.1', localAddress: '127.0.0.2' })
        other.on('error', () => resolve(false)).on('close', () => resolve(false))
        other.once('data', (head) => resolve(String(head).startsWith('HTTP/1.1 200')))
        other.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
      })
      for (const socket of sockets) socket.destroy()
      return {
        figures: { connections: sockets.length, taken, 'another address is served': Number(isServed) },
        faults: [
          ...bounded('connections of one address', taken, files / 8),
          ...(isServed ? [] : ['another address is not served'])
        ]
      }
    } finally {
      await target.stop()
    }
  }
}
