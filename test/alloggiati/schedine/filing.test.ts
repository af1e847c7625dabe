import t from 'tap'
import { build } from '#test/helper.ts'
import { family, single, soggiorno, today } from '#test/alloggiati/rules/samples.ts'
import { guestNo, production, standIn } from '#test/alloggiati/stand-in.ts'
import { createClock } from '#src/lib/time.ts'

const FILE = '/api/alloggiati/file'
const TODAY = { TODAY: today }

t.test(
  'the file holds byte for byte the rows that would be sent, with CRLF between them and none at the end',
  async (t) => {
    const server = await build(t, TODAY)
    const body = { ospiti: family({ cognome: "D'Énrico-Prova" }), prenotazione: soggiorno }
    const file = await server.call('POST', FILE, body)
    t.equal(file.statusCode, 200)
    t.equal(file.headers['content-type'], 'text/plain; charset=utf-8')
    t.equal(file.headers['content-disposition'], 'attachment; filename=schedine_2026-11-21.txt')
    t.equal(file.rawPayload.length, 168 + 2 + 168, 'no byte order mark')
    await server.call('POST', '/api/alloggiati/invio', body)
    const { data } = (await server.call('GET', '/api/alloggiati/sandbox/schedine')).json()
    t.equal(file.payload, data.map(({ riga }: { riga: string }) => riga).join('\r\n'))
  }
)

t.test('with an apartment the rows have 174 characters', async (t) => {
  const { call } = await build(t, TODAY)
  const file = await call('POST', FILE, {
    ospiti: [guestNo(1), guestNo(2)],
    prenotazione: { ...soggiorno, id_appartamento: 4 }
  })
  t.same(file.payload.split('\r\n').map((row) => [row.length, row.slice(168)]), [[174, '000004'], [174, '000004']])
})

t.test('the stay may come as soggiorno, and prenotazione wins; without either a 400 names both', async (t) => {
  const { call } = await build(t, TODAY)
  const file = await call('POST', FILE, {
    ospiti: [single()],
    soggiorno: { check_in: today, numero_notti: 7 },
    prenotazione: { check_in: '2026-11-20' }
  })
  t.match(file.headers['content-disposition'], 'schedine_2026-11-20.txt')
  t.equal(file.payload.slice(2, 14), '20/11/202607')
  const refused = await call('POST', FILE, { ospiti: [single()] })
  t.equal(refused.statusCode, 400)
  t.match(refused.json().error, /prenotazione.*soggiorno/)
})

t.test('a list with errors gives no file: 422 as for a submission', async (t) => {
  const { call } = await build(t, TODAY)
  const body = { ospiti: [single({ sesso: 'X' })], prenotazione: soggiorno }
  const [file, sent] = [await call('POST', FILE, body), await call('POST', '/api/alloggiati/invio', body)]
  t.equal(file.statusCode, 422)
  const { requestId: one, ...refused } = file.json()
  const { requestId: other, ...expected } = sent.json()
  t.not(one, other)
  t.strictSame(refused, expected)
})

t.test('a file registers nothing, calls no service, and is made while the service is down', async (t) => {
  const police = await standIn(t)
  const { app, call } = await production(t, police)
  await police.stop()
  const file = await call('POST', FILE, {
    ospiti: [guestNo(1)],
    prenotazione: { check_in: createClock().today(), numero_notti: 1 }
  })
  t.equal(file.statusCode, 200)
  t.same(police.begun, [])
  for (const table of ['invii', 'invii_schedine', 'invii_numerazione']) {
    t.equal((await app.sql`select from ${app.sql(table)}`).length, 0, table)
  }
})

t.test('there is nothing to rehearse: testMode is refused', async (t) => {
  const { call } = await build(t, TODAY)
  t.equal((await call('POST', FILE, { ospiti: [single()], prenotazione: soggiorno, testMode: true })).statusCode, 400)
})
