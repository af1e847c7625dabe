import type { ServerResponse } from 'node:http'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { dump, until } from '#test/alloggiati/stand-in.ts'
import { BOOKINGS, create, fieldsAtFault } from '#test/bookings/samples.ts'
import { build } from '#test/helper.ts'
import { startSmtp } from '#test/smtp.ts'
import { answer, type Behaviour, hang, hooking, type Received, startReceiver, WEBHOOKS } from './receiver.ts'

const smtp = await startSmtp(t)

const server = await build(t, {
  TODAY: '2026-11-21',
  WEBHOOKS_TO_LOOPBACK: 'true',
  SMTP_URL: smtp.url,
  MAIL_FROM: 'locanda@example.org',
  ALARM_EMAIL: 'anna@example.org, bruno@example.org'
}, undefined, {
  times: { firstDelayMs: 20, attemptMs: 3000 }
})

const { app, call, token, logs } = server
const { ask, add, find, remove, resume, repeat, secret, rotate, deliveries, settled } = await hooking(server)
const NEW_BOOKING = ['prenotazione.creata']
const bookingOf = ({ message }: Received) => message.data.prenotazione_id

t.test('a delivery says what happened, and is signed as Standard Webhooks says', async (t) => {
  const receiver = await startReceiver(t)
  const { id } = await add(receiver.url, NEW_BOOKING)
  const booking = await create(call)
  await call('PUT', `${BOOKINGS}/${booking.id}`, { telefono: '1' })
  const [{ headers, body, message }] = await receiver.await(1) as [Received]
  t.match(headers, { 'content-type': 'application/json', 'webhook-id': message.data.id })
  t.match(message, {
    type: 'prenotazione.creata',
    timestamp: message.data.quando,
    data: { oggetto: `prenotazione:${booking.id}`, prenotazione_id: booking.id }
  })
  t.notMatch(body, 'Bianchi')
  const { segreto } = await secret(id)
  t.match(segreto, /^whsec_[\w+/]{43}=$/)
  t.same(new Webhook(segreto).verify(body, headers as Record<string, string>), message)
  t.throws(() => new Webhook(segreto).verify(body.replace('creata', 'eliminata'), headers as Record<string, string>))
  const [delivery] = await settled(id, 'consegnata', 1)
  t.match(delivery, {
    evento: message.data.id,
    tipo: 'prenotazione.creata',
    prossimo_tentativo: null,
    numero_tentativi: 1,
    tentativi: [{ stato_http: 204, errore: null }]
  })
  t.equal((await deliveries(id)).length, 1, 'of the types that it wants, and no others')

  await rotate(id)
  const both = await secret(id)
  t.equal(both.segreto_precedente, segreto)
  t.not(both.segreto, segreto)
  await create(call)
  const { headers: later, body: laterBody } = (await receiver.await(2))[1]!
  for (const good of [segreto, both.segreto]) {
    t.ok(new Webhook(good).verify(laterBody, later as Record<string, string>))
  }
  await app.sql`update webhooks set precedente_fino_al = now()`
  t.equal((await secret(id)).segreto_precedente, null)
  await create(call)
  const { headers: last, body: lastBody } = (await receiver.await(3))[2]!
  t.ok(new Webhook(both.segreto).verify(lastBody, last as Record<string, string>))
  t.throws(() => new Webhook(segreto).verify(lastBody, last as Record<string, string>), 'the old one has run out')

  const stored = await dump(server)
  t.notMatch(stored, /whsec_/, 'secrets are sealed')
  t.notMatch(stored, both.segreto.slice(6))
  t.notMatch(JSON.stringify(logs), receiver.url, 'and addresses, which may hold one, are not logged')
  await remove(id)
})

t.test('a delivery that is not taken is repeated, with the same id, until it is', async (t) => {
  const receiver = await startReceiver(t)
  const elsewhere = await startReceiver(t)
  const behaviours = [
    answer(500),
    answer(302, { location: elsewhere.url }),
    hang,
    (_received: Received, { socket }: { socket: { destroy (): void } | null }) => { socket?.destroy() }
  ]
  receiver.behave = (received, response) => (behaviours.shift() ?? answer(200))(received, response)
  const { id } = await add(receiver.url, NEW_BOOKING)
  await create(call)
  const [delivery] = await settled(id, 'consegnata', 1)
  t.same(delivery!.tentativi.map(({ stato_http: status, errore }) => status ?? errore).reverse(), [
    500, 302, 'TEMPO_SCADUTO', 'ECONNRESET', 200
  ])
  t.equal(new Set(receiver.ids()).size, 1)
  t.equal(elsewhere.received.length, 0, 'a redirect is not followed')
  t.match(await find(id), { in_coda: 0, errori_di_fila: 0, stato: 'attivo' })
  await remove(id)
})

t.test('only a part of an endless answer is read, and its status counts', async (t) => {
  const receiver = await startReceiver(t)
  let written = 0
  receiver.behave = (_received, response) => {
    const more = () => { while (!response.destroyed && response.write('x'.repeat(16_384))) written += 16_384 }
    response.writeHead(200).on('drain', more)
    more()
  }
  const { id } = await add(receiver.url, NEW_BOOKING)
  await create(call)
  t.match((await settled(id, 'consegnata', 1))[0], { tentativi: [{ stato_http: 200 }] })
  await until(() => receiver.open() === 0)
  t.ok(written < 50_000_000, String(written))
  await remove(id)
})

t.test('an answer that hangs or breaks off behind its head is an answer', async (t) => {
  const receiver = await startReceiver(t)
  const { id } = await add(receiver.url, NEW_BOOKING)
  const begin = (end: (response: ServerResponse) => void): Behaviour => (_received, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('x', () => end(response))
  }
  const ends = [
    () => {},
    (response: ServerResponse) => { response.destroy() },
    ({ socket }: ServerResponse) => { socket?.resetAndDestroy() }
  ]
  for (const [turn, end] of ends.entries()) {
    receiver.behave = begin(end)
    await create(call)
    t.match((await settled(id, 'consegnata', turn + 1))[0], { tentativi: [{ stato_http: 200, errore: null }] })
  }
  await remove(id)
})

t.test('an answer that changes the protocol is a failure as others, and what follows is delivered', async (t) => {
  const receiver = await startReceiver(t)
  receiver.behave = (_received, { socket }) => {
    socket!.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  }
  const { id } = await add(receiver.url, NEW_BOOKING)
  for (let n = 0; n < 3; n++) await create(call)
  await receiver.await(3)
  receiver.behave = answer(204)
  const all = await settled(id, 'consegnata', 3)
  t.same(new Set(all.flatMap(({ tentativi }) => tentativi).map((each) => each.stato_http)), new Set([101, 204]))
  await remove(id)
})

t.test('events of one object are delivered in order; those of others do not wait for it', async (t) => {
  const receiver = await startReceiver(t)
  let isStuck = true
  const [one, two] = [await create(call), await create(call)]
  receiver.behave = (received, response) =>
    answer(isStuck && bookingOf(received) === one.id ? 503 : 200)(received, response)
  const { id } = await add(receiver.url, ['prenotazione.modificata', 'prenotazione.eliminata'])
  for (const telefono of ['1', '2']) {
    for (const booking of [one, two]) await call('PUT', `${BOOKINGS}/${booking.id}`, { telefono })
  }
  await call('POST', `${BOOKINGS}/delete-bulk`, { ids: [one.id, two.id] })
  await until(() => receiver.received.filter((each) => bookingOf(each) === two.id).length === 3)
  await until(() => receiver.received.filter((each) => bookingOf(each) === one.id).length > 1)
  t.equal(new Set(receiver.received.filter((each) => bookingOf(each) === one.id)
    .map(({ headers }) => headers['webhook-id'])).size, 1, 'nothing overtakes the first one')
  isStuck = false
  await settled(id, 'consegnata', 6)
  for (const booking of [one, two]) {
    const places = receiver.received.filter((each) => bookingOf(each) === booking.id)
      .map(({ message }) => Number(message.data.cursor.split('-')[0]))
    t.same(places, places.toSorted((a, b) => a - b))
  }
  await remove(id)
})

t.test('1,000 events for a receiver that never answers hold no request back, and two of them are out', async (t) => {
  const receiver = await startReceiver(t)
  receiver.behave = hang
  const { id } = await add(receiver.url, NEW_BOOKING)
  const other = await startReceiver(t)
  const { id: otherId } = await add(other.url, NEW_BOOKING)
  await app.sql`
    insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
    select 'Anna Bianchi', 'IT', 380, '2026-12-01', '2026-12-02', 1 from generate_series(1, 1000)`
  await receiver.await(2)
  const { id: booking } = await create(call)
  t.equal((await call('GET', `${BOOKINGS}/${booking}`)).statusCode, 200)
  t.ok(receiver.open() <= 2)
  await until(async () => (await find(id)).in_coda === 1001)
  await other.await(20)
  t.ok(receiver.open() <= 2, 'while another receiver has its own')
  await Promise.all([id, otherId].map(remove))
  t.equal((await app.sql`select from webhook_consegne`).length, 0)
})

t.test('after three days of failures a webhook is suspended, and that is an event; a person resumes it', async (t) => {
  const receiver = await startReceiver(t)
  receiver.behave = answer(500)
  const listening = await startReceiver(t)
  const { id } = await add(`${receiver.url}?segreto=barca`, NEW_BOOKING)
  const { id: listener } = await add(listening.url, ['webhook.sospeso'])
  const { id: booking } = await create(call)
  await receiver.await(2)
  await app.sql`update webhooks set errori_dal = now() - interval '3 days', errori_di_fila = 9 where id = ${id}`
  t.match(await listening.await(1), [{ message: { type: 'webhook.sospeso', data: { oggetto: `webhook:${id}` } } }])
  t.match(await find(id), { stato: 'sospeso', sospeso_il: String, in_coda: 0 })
  t.ok(logs.some((line) => line.msg === 'a webhook is suspended' && line.webhook === id))
  const told = [await smtp.next(), await smtp.next()]
  t.same(told.flatMap(({ envelope }) => envelope.to).toSorted(), ['anna@example.org', 'bruno@example.org'])
  for (const mail of told) {
    t.equal(mail.subject, `Locanda: sospeso il webhook ${id}`)
    const { host } = new URL(receiver.url)
    t.match(mail.text, `verso ${host} da tre giorni non riceve gli eventi. Ultimo esito: stato 500`)
    t.notMatch(mail.raw, '/eventi?segreto', 'the path of an address may hold a secret')
  }
  const [delivery] = await deliveries(id)
  t.equal(delivery!.stato, 'abbandonata')
  t.match((await repeat(id, delivery!.id)).json(), { status: 409, codice: 'WEBHOOK_SOSPESO' })
  const attempts = receiver.received.length
  await create(call)
  receiver.behave = answer(200)
  await resume(id)
  await settled(id, 'consegnata', 1)
  t.same(receiver.received.slice(attempts).map(bookingOf), [booking], 'what it waited for, and nothing of meanwhile')

  receiver.behave = answer(410)
  await create(call)
  await until(async () => (await find(id)).stato === 'sospeso')
  t.equal((await find(id)).stato, 'sospeso', 'at once, when the receiver wants nothing more')
  t.match((await smtp.next()).text, 'ha risposto 410')
  await Promise.all([id, listener].map(remove))
})

t.test('a receiver that says when to ask again is left alone until then, four hours at most', async (t) => {
  const receiver = await startReceiver(t)
  for (const [header, least, most] of [['3600', 3590, 3600], ['999999', 14_000, 14_400]] as const) {
    receiver.behave = answer(503, { 'retry-after': header })
    const { id } = await add(receiver.url, NEW_BOOKING)
    const before = receiver.received.length
    await create(call)
    await until(async () => (await find(id)).errori_di_fila === 1)
    const [delivery] = await deliveries(id)
    const seconds = (Date.parse(delivery!.prossimo_tentativo!) - Date.now()) / 1000
    t.ok(seconds > least && seconds <= most, `${header}: ${seconds}`)
    await create(call)
    await until(async () => (await find(id)).in_coda === 2)
    t.equal(receiver.received.length, before + 1, 'nor does it get anything else')
    await remove(id)
  }
})

t.test('a Retry-After holds, whatever becomes of another attempt that was under way', async (t) => {
  const receiver = await startReceiver(t)
  const open: ServerResponse[] = []
  receiver.behave = (_received, response) => { open.push(response) }
  const { id } = await add(receiver.url, NEW_BOOKING)
  for (let n = 0; n < 2; n++) await create(call)
  await until(() => open.length === 2)
  open[0]!.writeHead(503, { 'retry-after': '3600' }).end()
  await until(async () => (await find(id)).errori_di_fila === 1)
  open[1]!.writeHead(500).end()
  await until(async () => (await find(id)).errori_di_fila === 2)
  const [{ seconds }] = await app.sql<[{ seconds: number }]>`
    select extract(epoch from fermo_fino_al - now())::float8 as seconds from webhooks where id = ${id}`
  t.ok(seconds > 3500, String(seconds))
  await remove(id)
})

t.test('a webhook can be tried: it alone gets an event, whatever types it wants', async (t) => {
  const [receiver, other] = [await startReceiver(t), await startReceiver(t)]
  const { id } = await add(receiver.url, ['allarme.sollevato'])
  const { id: otherId } = await add(other.url)
  const tried = await ask('POST', `${WEBHOOKS}/${id}/prova`, {})
  t.match(tried.json(), { data: { tipo: 'webhook.prova', oggetto: `webhook:${id}`, stato: 'in_coda' } })
  const [{ body, headers }] = await receiver.await(1) as [Received]
  t.match(new Webhook((await secret(id)).segreto).verify(body, headers as Record<string, string>), {
    type: 'webhook.prova'
  })
  const [delivery] = await settled(id, 'consegnata', 1)
  t.equal(delivery!.id, tried.json<{ data: { id: number } }>().data.id)
  await create(call)
  t.match(await other.await(1), [{ message: { type: 'prenotazione.creata' } }])
  await app.sql`update webhooks set stato = 'sospeso' where id = ${id}`
  t.match((await ask('POST', `${WEBHOOKS}/${id}/prova`, {})).json(), { status: 409, codice: 'WEBHOOK_SOSPESO' })
  await Promise.all([id, otherId].map(remove))
})

t.test('a webhook that goes while events are put in order costs no reader an error, and no event', async (t) => {
  const receiver = await startReceiver(t)
  const [{ id }, { id: stays }] = [await add(receiver.url), await add(receiver.url, NEW_BOOKING)]
  const deleted = Promise.withResolvers<void>()
  const commit = Promise.withResolvers<void>()
  const deletion = app.sql.begin(async (sql) => {
    await sql`delete from webhooks where id = ${id}`
    deleted.resolve()
    await commit.promise
  })
  await deleted.promise
  const { id: booking } = await create(call)
  const reading = call('GET', '/api/v1/eventi?limit=1')
  await until(async () => (await app.sql`
    select from pg_locks where not granted and pid <> pg_backend_pid()`).length > 0)
  commit.resolve()
  await deletion
  t.equal((await reading).statusCode, 200)
  await until(() => receiver.received.some((each) => bookingOf(each) === booking))
  t.notOk(logs.some(({ msg }) => msg === 'events could not be put in order'))
  await remove(stays)
})

t.test('a delivery is repeated by hand, whatever became of it', async (t) => {
  const receiver = await startReceiver(t)
  const { id } = await add(receiver.url, NEW_BOOKING)
  await create(call)
  const [delivery] = await settled(id, 'consegnata', 1)
  const again = await repeat(id, delivery!.id)
  t.match(again.json(), { data: { id: delivery!.id, stato: 'in_coda' } })
  await receiver.await(2)
  t.equal(new Set(receiver.ids()).size, 1)
  await settled(id, 'consegnata', 1)
  // Given up while it was to be repeated, it waits for its turn as others once the webhook goes on.
  receiver.behave = answer(410)
  await repeat(id, delivery!.id)
  await until(async () => (await find(id)).stato === 'sospeso')
  receiver.behave = answer(204)
  await resume(id)
  t.match(await app.sql`select a_mano from webhook_consegne where id = ${delivery!.id}`, [{ a_mano: false }])
  await settled(id, 'consegnata', 1)
  t.match((await repeat(id, 2_000_000)).json(), { status: 404, codice: 'CONSEGNA_NON_TROVATA' })
  t.equal((await repeat(2_000_000, delivery!.id)).statusCode, 404)
  await remove(id)
})

t.test('two processes deliver each event once', async (t) => {
  const receiver = await startReceiver(t)
  const { id } = await add(receiver.url, NEW_BOOKING)
  const second = await build(t, {
    TODAY: '2026-11-21', WEBHOOKS_TO_LOOPBACK: 'true', DATABASE_URL: server.url
  })
  await Promise.all(Array.from({ length: 40 }, (_, n) => create((n % 2 === 0 ? server : second).call)))
  await until(async () => receiver.received.length >= 40 && (await find(id)).in_coda === 0)
  t.equal(receiver.received.length, 40)
  t.equal(new Set(receiver.ids()).size, 40)
  await remove(id)
})

t.test('webhooks are for administrators alone', async (t) => {
  const operator = { authorization: `Bearer ${await token()}` }
  const routes = [
    ['GET', WEBHOOKS], ['POST', WEBHOOKS], ['GET', `${WEBHOOKS}/1`], ['DELETE', `${WEBHOOKS}/1`],
    ['POST', `${WEBHOOKS}/1/riattiva`], ['GET', `${WEBHOOKS}/1/segreto`], ['POST', `${WEBHOOKS}/1/segreto`],
    ['GET', `${WEBHOOKS}/1/consegne`], ['POST', `${WEBHOOKS}/1/consegne/1/ripeti`], ['POST', `${WEBHOOKS}/1/prova`]
  ] as const
  for (const [method, path] of routes) {
    t.equal((await app.inject({ method, url: path })).statusCode, 401, `${method} ${path}`)
    t.equal((await app.inject({ method, url: path, headers: operator })).statusCode, 403)
    t.equal((await call(method, path)).statusCode, 403, 'nor has the server\'s key a say')
  }
  for (const [method, path] of routes.slice(2)) {
    t.equal((await ask(method, path, method === 'POST' ? {} : undefined)).statusCode, 404, `${method} ${path}`)
  }
})

t.test('an address that must not be asked for is refused, and every wrong field is named', async (t) => {
  for (const url of [
    'nonsense', 'http://eventi.example/x', 'ftp://eventi.example', 'https://a:b@eventi.example', 'https://10.0.0.1/',
    'https://[::ffff:10.0.0.1]/', 'https://169.254.169.254/latest/meta-data', 'https://[fd00:ec2::254]/',
    'https://router.local/', 'https://metadata.google.internal/', 'https://router/', 'https://eventi.example/#a',
    'https://0x0a000001/', 'https://167772161/'
  ]) {
    const refused = await ask('POST', WEBHOOKS, { url })
    t.equal(refused.statusCode, 400, url)
    t.same(fieldsAtFault(refused), ['url'], url)
  }
  t.same(fieldsAtFault(await ask('POST', WEBHOOKS, { url: 'http://10.0.0.1', tipi: ['nonsense'] })).sort(), [
    'tipi[0]', 'url'
  ])
  t.equal((await ask('POST', WEBHOOKS, {})).statusCode, 400)
})

t.test('the same Idempotency-Key makes one webhook, and there are twenty at most', async (t) => {
  const receiver = await startReceiver(t)
  const headers = { 'idempotency-key': 'uno' }
  const [first, again] = [
    await ask('POST', WEBHOOKS, { url: receiver.url }, headers),
    await ask('POST', WEBHOOKS, { url: receiver.url }, headers)
  ]
  t.equal(first.statusCode, 201)
  t.match(first.headers.location, /^\/api\/v1\/webhooks\/\d+$/)
  t.same(again.json(), first.json())
  t.equal(again.headers['idempotency-replayed'], 'true')
  const made = await Promise.all(Array.from({ length: 25 }, () => ask('POST', WEBHOOKS, { url: receiver.url })))
  t.equal(made.filter(({ statusCode }) => statusCode === 201).length, 19)
  t.match(made.find(({ statusCode }) => statusCode !== 201)!.json(), { status: 409, codice: 'TROPPI_WEBHOOK' })
  const { data } = (await ask('GET', WEBHOOKS)).json<{ data: { id: number }[] }>()
  t.equal(data.length, 20)
  for (const { id } of data) await remove(id)
})

t.test('every act on webhooks is in the audit log', async (t) => {
  const { data } = (await ask('GET', '/api/v1/audit?limit=1000')).json<{ data: { action: string }[] }>()
  const done = new Set(data.map(({ action }) => action))
  for (const action of [
    'webhook_creato', 'webhook_eliminato', 'webhook_riattivato', 'webhook_segreto', 'webhook_consegna',
    'webhook_prova'
  ]) t.ok(done.has(action), action)
})
