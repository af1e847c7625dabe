import { getEventListeners, once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'
import { limitedSignal } from '#src/lib/limited-signal.ts'
import { openStreams } from '#src/operations/events/open-streams.ts'

const LONG_MS = 600_000

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

t.test('what has ended is not aborted any more, and is nobody\'s', async (t) => {
  const other = new AbortController()
  const limited = limitedSignal([other.signal], 1)
  limited.end()
  await new Promise((resolve) => { setTimeout(resolve, 20) })
  other.abort()
  t.notOk(limited.signal.aborted)
})

t.test('of a stream that has ended nothing stays in memory', async (t) => {
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
