import { getEventListeners, once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { mock } from 'node:test'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { FastifyReply, FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { limitedSignal } from '#src/lib/limited-signal.ts'
import { cutWhenStalled } from '#src/lib/stalled.ts'
import { openStreams } from '#src/events/open-streams.ts'
import { openSocket, target } from '#test/raw.ts'

const MEGABYTE = 1024 * 1024
/** More than a connection holds under way, both ends together. */
const MUCH = 16 * MEGABYTE
const MS = 1000

mock.timers.enable({ apis: ['setInterval'] })
t.teardown(() => mock.timers.reset())

/** A reader who reads nothing yet, and the answers to its requests; those to `/lunga` are watched. */
async function ask (t: Test, paths: readonly string[]) {
  const answers: ServerResponse[] = []
  const server = createServer((request, response) => {
    answers.push(response)
    if (request.url === '/lunga') cutWhenStalled(response, MS)
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const connected = once(server, 'connection') as Promise<[Socket]>
  const requests = paths.map((path) => target('GET', path, { connection: 'keep-alive' })).join('')
  const reader = (await openSocket(t, (server.address() as AddressInfo).port, requests)).pause()
  const [socket] = await connected
  while (answers.length < paths.length) await sleep(1)
  return { answers, reader, socket }
}

/** Milliseconds of the watch's time until a connection is cut, three times its time at most. */
async function timeOf (socket: Socket): Promise<number> {
  let ms = 0
  for (const step = MS / 20; !socket.destroyed && ms < 3 * MS; ms += step) {
    mock.timers.tick(step)
    await sleep(1)
  }
  return ms
}

const LONG_MS = 600_000

t.test('a connection that takes nothing of an answer is cut after its time, and not after twice as much', async (t) => {
  const { answers: [long], socket } = await ask(t, ['/lunga'])
  long!.write(Buffer.alloc(2 * MUCH))
  const ms = await timeOf(socket)
  t.ok(ms >= MS && ms < 2 * MS, `${ms} ms`)
})

t.test('so is one whose long answer comes after others on the same connection', async (t) => {
  const { answers: [first, long], socket } = await ask(t, ['/prima', '/lunga'])
  long!.write(Buffer.alloc(2 * MUCH))
  t.notOk(await timeOf(socket) < 3 * MS, 'as long as the one before is made, nobody is waited for')
  first!.end('prima')
  const ms = await timeOf(socket)
  t.ok(ms >= MS && ms < 2 * MS, `${ms} ms`)
})

t.test('so is one that takes next to nothing: a few bytes now and then are no progress', async (t) => {
  const { answers: [long], socket } = await ask(t, ['/lunga'])
  long!.write(Buffer.alloc(2 * MUCH))
  // As the system counts what it takes; how it doles that out to a reader is its own affair.
  const handle = Reflect.get(socket, '_handle') as { writeQueueSize: number }
  const { writeQueueSize } = handle
  let reads = 0
  Object.defineProperty(handle, 'writeQueueSize', { get: () => writeQueueSize - 100 * reads++ })
  const ms = await timeOf(socket)
  t.ok(ms >= MS && ms < 2 * MS, `${ms} ms`)
})

t.test('a slow reader gets the whole answer, however large a piece of it is', async (t) => {
  const { answers: [long], reader } = await ask(t, ['/lunga'])
  // While it is read its time passes three times.
  long!.end(Buffer.alloc(6 * MUCH))
  let read = 0
  for await (const chunk of reader) {
    const before = read
    read += (chunk as Buffer).length
    if (Math.floor(read / MUCH) > Math.floor(before / MUCH)) mock.timers.tick(MS / 2)
    if (read > 6 * MUCH) break
  }
  t.ok(read > 6 * MUCH, `${read} bytes`)
})

t.test('a limited signal is aborted by another one, by time, and by a call', async (t) => {
  const [one, two] = [new AbortController(), new AbortController()]
  const byOther = limitedSignal([one.signal, two.signal], LONG_MS)
  two.abort()
  t.ok(byOther.signal.aborted)
  t.notOk(byOther.isTooLate())
  t.ok(limitedSignal([one.signal, two.signal]).signal.aborted, 'by one that was aborted before, too')
  t.ok(limitedSignal([two.signal, one.signal]).signal.aborted)
  const byTime = limitedSignal([one.signal], 1)
  const keptAlive = setTimeout(() => {}, LONG_MS)
  await once(byTime.signal, 'abort')
  clearTimeout(keptAlive)
  t.ok(byTime.isTooLate())
  const byCall = limitedSignal([one.signal], LONG_MS)
  byCall.abort()
  t.ok(byCall.signal.aborted)
  t.notOk(byCall.isTooLate())
  t.same(getEventListeners(one.signal, 'abort'), [], 'and then nothing hangs on the others')
})

t.test('a limited signal that has ended is not aborted any more', async (t) => {
  const other = new AbortController()
  const limited = limitedSignal([other.signal], 1)
  limited.end()
  await new Promise((resolve) => { setTimeout(resolve, 20) })
  other.abort()
  t.notOk(limited.signal.aborted)
})

t.test('a stream that has ended leaves nothing in memory', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const closing = new AbortController()
  const streams = openStreams({ subscribe: () => ({ ready: async () => true }) } as never)
  const request = { principal: {} } as FastifyRequest
  const reply = { elapsedTime: 0 } as FastifyReply
  const refs = Array.from({ length: 50 }, () => {
    const { signal, forget } = streams.signalFor(request, reply, [closing.signal])
    signal.addEventListener('abort', () => {})
    forget()
    return new WeakRef(signal)
  })
  const left = () => refs.filter((ref) => ref.deref() !== undefined).length
  // To collect a large heap takes half a second.
  for (let turn = 0; turn < 5 && left() > 0; turn++) {
    // What was looked at stays until the end of the turn.
    await setImmediate()
    collect()
  }
  t.equal(left(), 0)
  t.notOk(closing.signal.aborted)
})
