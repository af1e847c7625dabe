import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Closed } from '#schemas/common.ts'
import { build, extraRoutes } from '#test/helper.ts'
import { listen, openSocket, target } from '#test/raw.ts'

t.test(
  'while the last requests are finished, a new one on an open connection is refused like any that comes too soon',
  async (t) => {
    const held = Promise.withResolvers<void>()
    const begun = new PassThrough()
    const { app } = await build(
      t,
      {},
      extraRoutes((app) => {
        const schema = { response: { 200: Closed({}) } }
        app.get('/prova/attesa', { config: { access: 'public' }, schema }, async () => {
          await held.promise
          return {}
        })
        app.get('/prova/corso', { config: { access: 'public' }, schema }, async (_request, reply) =>
          reply.type('text/plain').send(begun)
        )
      })
    )
    const port = await listen(app)
    const keep = { connection: 'keep-alive' }
    const waiting = await openSocket(t, port, target('GET', '/prova/attesa', keep))
    const open = await openSocket(t, port, target('GET', '/prova/corso', keep))
    const until = async (part: string) => {
      for (let seen = ''; !seen.includes(part);) seen += String(((await once(open, 'data')) as [Buffer])[0])
    }
    begun.write('inizio')
    await until('inizio')

    const closed = app.close()
    begun.end('fine')
    await until('0\r\n\r\n')
    open.write(target('GET', '/health/live', keep))
    const [answer] = (await once(open, 'data')) as [Buffer]
    const [head = '', body = ''] = answer.toString().split('\r\n\r\n')
    t.match(head, /^HTTP\/1\.1 503 /)
    t.match(head, /^connection: close$/im)
    t.match(head, /^retry-after: 5$/im)
    t.match(JSON.parse(body), { status: 503, codice: 'SERVIZIO_OCCUPATO', error: /\S/, requestId: /\S/ })

    held.resolve()
    const [last] = (await once(waiting, 'data')) as [Buffer]
    t.match(last.toString(), /^HTTP\/1\.1 200 /, 'and the one that was under way is answered')
    await closed
  }
)

/** As much as is asked for, without end. */
const endless = () => new Readable({ read () { this.push(Buffer.alloc(65_536, 32)) } })

t.test('a caller who does not read holds up no end, be the answer whole or in pieces', async (t) => {
  const { app } = await build(t, {}, answering({
    '/prova/intera': () => Buffer.alloc(20_000_000, 32),
    '/prova/pezzi': endless
  }))
  const port = await listen(app)
  for (const url of ['/prova/intera', '/prova/pezzi']) {
    await once(await openSocket(t, port, target('GET', url)), 'readable')
  }
  await app.close()
  t.notOk(app.server.listening)
})

t.test('an answer that goes on without end is cut in the end', async (t) => {
  // At a pace at which it costs little: it goes on for seconds.
  const slow = () => Readable.from((async function * () {
    for (;;) yield await sleep(20, Buffer.alloc(65_536, 32))
  })(), { objectMode: false })
  const { app } = await build(t, {}, answering({ '/prova/pezzi': slow }))
  const reader = await openSocket(t, await listen(app), target('GET', '/prova/pezzi'))
  reader.resume()
  await once(reader, 'data')
  await app.close()
  t.notOk(app.server.listening)
})

function answering (answers: Record<string, () => Buffer | Readable>) {
  return extraRoutes((app) => {
    for (const [url, answer] of Object.entries(answers)) {
      app.get(
        url,
        { config: { access: 'public' }, schema: { response: { 200: Closed({}) } } },
        async (_request, reply) => reply.type('text/plain').send(answer())
      )
    }
  })
}
