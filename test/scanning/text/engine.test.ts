import t, { type Test } from 'tap'
import { textEngine, type TextEngineOptions } from '#src/scanning/text/engine.ts'
import { WIDTHS } from './thread.ts'

const script = new URL('thread.ts', import.meta.url)

function start (t: Test, options: TextEngineOptions = {}) {
  const engine = textEngine({ script, ...options })
  t.teardown(engine.close)
  const read = (kind: keyof typeof WIDTHS, signal?: AbortSignal) => engine.read({
    page: { data: new Uint8Array(WIDTHS[kind]), width: WIDTHS[kind], height: 1 }, languages: ['IT'], quarters: 0
  }, signal)
  return { engine, read }
}

t.test('there is no thread before the first page, and one afterwards that is kept', async (t) => {
  const { engine, read } = start(t)
  t.equal(engine.threads(), 0)
  t.same(await Promise.all([read('read'), read('read'), read('read')]), ['1', '2', '3'])
  t.equal(engine.threads(), 1)
  await engine.close()
  t.equal(engine.threads(), 0)
})

t.test('a thread is replaced after so many pages', async (t) => {
  const { read } = start(t, { readingsMax: 2 })
  const texts: string[] = []
  for (let n = 0; n < 5; n++) texts.push(await read('read'))
  t.same(texts, ['1', '2', '1', '2', '1'])
})

t.test('a page that takes too long is a 503, its thread ends, and the next page is read', async (t) => {
  const { read } = start(t, { deadlineMs: 6000 })
  await t.rejects(read('hang'), { code: 'LAVORO_TROPPO_LUNGO' })
  t.equal(await read('read'), '1')
})

t.test('a page that the thread fails at is a 503, and the next page is read', async (t) => {
  const { read } = start(t)
  for (const kind of ['exit', 'fail'] as const) {
    await t.rejects(read(kind), { code: 'LAVORO_NON_RIUSCITO' })
    t.equal(await read('read'), '1')
  }
})

t.test('a page that nobody waits for any more is not read', async (t) => {
  const { read } = start(t)
  const gone = new AbortController()
  const first = read('read')
  const second = read('read', gone.signal)
  gone.abort()
  await t.rejects(second, { code: 'SERVIZIO_OCCUPATO' })
  t.equal(await first, '1')
  t.equal(await read('read'), '2')
})

t.test('what nobody asks for any more gives its memory back', async (t) => {
  const { engine, read } = start(t, { idleMs: 1 })
  t.equal(await read('read'), '1')
  while (engine.threads() > 0) await new Promise((resolve) => { setTimeout(resolve, 10) })
  t.equal(await read('read'), '1')
})

t.test('the end waits for no page', async (t) => {
  const { engine, read } = start(t)
  const failing = t.rejects(Promise.all([read('hang'), read('read')]), { name: 'FastifyError' })
  await engine.close()
  await failing
})
