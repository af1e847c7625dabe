import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { create } from '#test/bookings/samples.ts'
import { jpeg } from '#test/services/images/pictures.ts'
import { buildDesk, signedIn, uploader } from './desk-visitor.ts'

const TEN_MEGABYTES = 10 * 1024 * 1024
const PIECE = Buffer.alloc(64 * 1024)

t.test('a person who sends many large photos at once gets a 503, and another person does not', async (t) => {
  const server = await buildDesk(t)
  const { app, call } = server
  const { id } = await create(call, { check_in: '2026-11-28', numero_ospiti: 1 })
  const page = `/scansione/${id}/0`
  const [anna, bruno] = [await signedIn(server), await signedIn(server, 'bruno@example.org')]
  await anna.open(page)
  await bruno.open(page)

  const bodies = Array.from({ length: 3 }, () => new PassThrough())
  const slow = bodies.map((payload) => app.inject({
    method: 'POST',
    url: page,
    headers: {
      accept: 'text/html',
      cookie: anna.cookie(),
      'content-type': 'multipart/form-data; boundary=x',
      'content-length': String(TEN_MEGABYTES)
    },
    payload
  }))
  // The server reads a body only when the request has its share.
  for (const body of bodies) body.write(PIECE)
  while (bodies.some(({ readableLength }) => readableLength > 0)) await sleep(10)
  const sending = setInterval(() => { for (const body of bodies) body.write(PIECE) }, 500)
  const upload = uploader(app)
  const photo = await jpeg(2000, 2000)
  const large = Buffer.concat([photo, Buffer.alloc(3 * 1024 * 1024)])
  t.equal((await upload(anna, page, large, { solo: '1' })).statusCode, 503)
  t.equal((await upload(bruno, page, large, { solo: '1' })).statusCode, 303)
  clearInterval(sending)
  for (const body of bodies) body.end()
  for (const { statusCode } of await Promise.all(slow)) t.equal(statusCode, 400)
  t.equal((await upload(anna, page, large, { solo: '1' })).statusCode, 303)
})
