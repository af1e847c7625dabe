import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { isPublicAddress } from '#src/lib/public-addresses.ts'
import { deleteOldEvents } from '#src/events/feed.ts'
import { claim, type Claimed, queueAge, settle, type Settled } from '#src/events/webhooks/delivery-queue.ts'
import { receivers, retryAfterMs, sender } from '#src/events/webhooks/send-event.ts'
import { selfSigned } from '#test/alloggiati/service/soap/certificate.ts'
import { dump, until } from '#test/alloggiati/stand-in.ts'
import { BOOKINGS, create, fieldsAtFault } from '#test/bookings/samples.ts'
import { testDatabase } from '#test/database.ts'
import { build, temporaryFolder } from '#test/helper.ts'
import { startServer } from '#test/running-server.ts'
import { startSmtp } from '#test/smtp.ts'
import { answer, hang, hooking, type Received, startReceiver, WEBHOOKS } from './receiver.ts'

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

const { app, call, logs } = server
const { ask, add, find, remove, resume, repeat, secret, rotate, deliveries, settled } = await hooking(server)
const NEW_BOOKING = ['prenotazione.creata']
const bookingOf = ({ message }: Received) => message.data.prenotazione_id

t.test('a delivery contains the event, and is signed according to Standard Webhooks', async (t) => {
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
  t.equal((await deliveries(id)).length, 1, 'only subscribed types are delivered')

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
  t.throws(() => new Webhook(segreto).verify(lastBody, last as Record<string, string>), 'the old secret has expired')

  const stored = await dump(server)
  t.notMatch(stored, /whsec_/, 'secrets are encrypted')
  t.notMatch(stored, both.segreto.slice(6))
  t.notMatch(JSON.stringify(logs), receiver.url, 'URLs, which may contain a secret, are not logged')
  await remove(id)
})

t.test('a failed delivery is retried with the same id until it succeeds', async (t) => {
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

t.test('only a part of an endless response is read, and its status is used', async (t) => {
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

t.test('events of one object are delivered in order, and do not delay events of other objects', async (t) => {
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
    .map(({ headers }) => headers['webhook-id'])).size, 1, 'no delivery overtakes the first one')
  isStuck = false
  await settled(id, 'consegnata', 6)
  for (const booking of [one, two]) {
    const positions = receiver.received.filter((each) => bookingOf(each) === booking.id)
      .map(({ message }) => Number(message.data.cursor.split('-')[0]))
    t.same(positions, positions.toSorted((a, b) => a - b))
  }
  await remove(id)
})

t.test('1,000 events for a receiver that never responds delay no request, with only two in flight', async (t) => {
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
  t.ok(receiver.open() <= 2, 'another receiver gets its deliveries meanwhile')
  await Promise.all([id, otherId].map(remove))
  t.equal((await app.sql`select from webhook_consegne`).length, 0)
})

t.test('three days of failures suspend a webhook and write an event, and an administrator resumes it', async (t) => {
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
  const mails = [await smtp.next(), await smtp.next()]
  t.same(mails.flatMap(({ envelope }) => envelope.to).toSorted(), ['anna@example.org', 'bruno@example.org'])
  for (const mail of mails) {
    t.equal(mail.subject, `Locanda: sospeso il webhook ${id}`)
    const { host } = new URL(receiver.url)
    t.match(mail.text, `verso ${host} da tre giorni non riceve alcuni o tutti gli eventi. Ultimo esito: stato 500`)
    t.notMatch(mail.raw, '/eventi?segreto', 'the path of a URL may contain a secret')
  }
  const [delivery] = await deliveries(id)
  t.equal(delivery!.stato, 'abbandonata')
  t.match((await repeat(id, delivery!.id)).json(), { status: 409, codice: 'WEBHOOK_SOSPESO' })
  const attempts = receiver.received.length
  await create(call)
  receiver.behave = answer(200)
  await resume(id)
  await settled(id, 'consegnata', 1)
  t.same(receiver.received.slice(attempts).map(bookingOf), [booking], 'only earlier deliveries')

  receiver.behave = answer(410)
  await create(call)
  await until(async () => (await find(id)).stato === 'sospeso')
  t.equal((await find(id)).stato, 'sospeso', 'a 410 suspends it at once')
  t.match((await smtp.next()).text, 'ha risposto 410')
  await Promise.all([id, listener].map(remove))
})

t.test('Retry-After delays the next attempt, by at most four hours', async (t) => {
  const receiver = await startReceiver(t)
  for (const [header, min, max] of [['3600', 3590, 3600], ['999999', 14_000, 14_400]] as const) {
    receiver.behave = answer(503, { 'retry-after': header })
    const { id } = await add(receiver.url, NEW_BOOKING)
    const before = receiver.received.length
    await create(call)
    await until(async () => (await find(id)).errori_di_fila === 1)
    const [delivery] = await deliveries(id)
    const seconds = (Date.parse(delivery!.prossimo_tentativo!) - Date.now()) / 1000
    t.ok(seconds > min && seconds <= max, `${header}: ${seconds}`)
    await create(call)
    await until(async () => (await find(id)).in_coda === 2)
    t.equal(receiver.received.length, before + 1, 'no other delivery is sent meanwhile')
    await remove(id)
  }
})

t.test('a test event is delivered only to the tested webhook, even without a subscription to its type', async (t) => {
  const [receiver, other] = [await startReceiver(t), await startReceiver(t)]
  const { id } = await add(receiver.url, ['allarme.sollevato'])
  const { id: otherId } = await add(other.url)
  const tried = await ask('POST', `${WEBHOOKS}/${id}/prova`, {})
  t.match(tried.json(), { data: { tipo: 'webhook.prova', oggetto: `webhook:${id}` } })
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

t.test('an administrator can repeat a delivery that has succeeded, with the same id', async (t) => {
  const receiver = await startReceiver(t)
  const { id } = await add(receiver.url, NEW_BOOKING)
  await create(call)
  const [delivery] = await settled(id, 'consegnata', 1)
  const again = await repeat(id, delivery!.id)
  t.match(again.json(), { data: { id: delivery!.id, stato: 'in_coda' } })
  await receiver.await(2)
  t.equal(new Set(receiver.ids()).size, 1)
  await settled(id, 'consegnata', 1)
  // A repeated delivery that was abandoned is an ordinary one after its webhook is resumed.
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

t.test('a forbidden URL is refused, and every invalid field is named', async (t) => {
  // The tests of `receivers` cover all forbidden addresses.
  for (const url of ['nonsense', 'https://[::ffff:10.0.0.1]/', 'https://0x0a000001/', 'https://167772161/']) {
    const refused = await ask('POST', WEBHOOKS, { url })
    t.equal(refused.statusCode, 400, url)
    t.same(fieldsAtFault(refused), ['url'], url)
  }
  t.same(fieldsAtFault(await ask('POST', WEBHOOKS, { url: 'http://10.0.0.1', tipi: ['nonsense'] })).sort(), [
    'tipi[0]', 'url'
  ])
  t.equal((await ask('POST', WEBHOOKS, {})).statusCode, 400)
})

t.test('a twenty-first webhook is refused', async (t) => {
  const receiver = await startReceiver(t)
  const made = await Promise.all(Array.from({ length: 25 }, () => ask('POST', WEBHOOKS, { url: receiver.url })))
  const created = made.filter(({ statusCode }) => statusCode === 201)
  t.equal(created.length, 20)
  t.match(created[0]!.headers.location, /^\/api\/v1\/webhooks\/\d+$/)
  t.match(made.find(({ statusCode }) => statusCode !== 201)!.json(), { status: 409, codice: 'TROPPI_WEBHOOK' })
  const { data } = (await ask('GET', WEBHOOKS)).json<{ data: { id: number }[] }>()
  t.equal(data.length, 20)
  for (const { id } of data) await remove(id)
})

t.test('every change of a webhook is in the audit log', async (t) => {
  const { data } = (await ask('GET', '/api/v1/audit?limit=1000')).json<{ data: { action: string }[] }>()
  const done = new Set(data.map(({ action }) => action))
  for (const action of [
    'webhook_creato', 'webhook_eliminato', 'webhook_riattivato', 'webhook_segreto', 'webhook_consegna',
    'webhook_prova'
  ]) t.ok(done.has(action), action)
})

const FIRST_DELAY_MS = 5000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Concurrent attempts per webhook in a process. */
const AT_ONCE = 2

const FAILED = { stato_http: 503, errore: null }
const DELIVERED = { stato_http: 204, errore: null }
const { sql, db } = await testDatabase(t)

/** Creates a webhook with queued events of this number of bookings. */
async function queueOf (bookings: number): Promise<number> {
  const [row] = await sql<[{ id: number }]>`
    with w as (insert into webhooks (url, tipi, segreto) values ('https://eventi.example/', '{}', '') returning id),
    e as (
      insert into eventi (id, tipo, oggetto, quando)
      select gen_random_uuid(), 'prenotazione.creata', 'prenotazione:' || n, now()
      from generate_series(1, ${bookings}) n
      returning posizione, oggetto
    ),
    c as (insert into webhook_consegne (webhook_id, evento, oggetto) select w.id, posizione, oggetto from e, w)
    select id from w`
  return row.id
}

/** Simulates that time has passed: all other times become earlier. */
async function pass (ms: number): Promise<void> {
  const past = sql`${ms} * interval '1 millisecond'`
  await sql`update webhooks set fermo_fino_al = fermo_fino_al - ${past}, errori_dal = errori_dal - ${past},
    ultimo_errore = ultimo_errore - ${past}`
  await sql`update webhook_consegne set prossimo_tentativo = prossimo_tentativo - ${past},
    provata_dal = provata_dal - ${past}, creata_il = creata_il - ${past}`
  await sql`update eventi set quando = quando - ${past}`
}

/** Milliseconds until the next delivery is due. */
async function untilNext (): Promise<number | undefined> {
  const [row] = await sql<[{ ms: number | null }]>`
    select (extract(epoch from min(greatest(c.prossimo_tentativo, w.fermo_fino_al)) - now()) * 1000)::float8 as ms
    from webhooks w join webhook_consegne c on c.webhook_id = w.id and c.stato = 'in_coda'
    where w.stato = 'attivo' and greatest(c.prossimo_tentativo, w.fermo_fino_al) > now()`
  return row.ms ?? undefined
}

/** Attempts the due deliveries, as a process does. */
async function round (outcomeOf: (claimed: Claimed) => typeof FAILED | typeof DELIVERED) {
  const taken: Claimed[] = []
  while (taken.length < AT_ONCE) {
    const claimed = await claim(db)
    if (!claimed) break
    taken.push(claimed)
  }
  const settled: Settled[] = []
  for (const claimed of taken) {
    const outcome = { ...outcomeOf(claimed), at: new Date(), durationMs: 1 }
    settled.push(await settle(db, claimed, outcome, FIRST_DELAY_MS, async () => {}))
  }
  return settled
}

/** Days until the webhook is suspended, at most `maxDays`. `outcomeOf` simulates the receiver. */
async function daysUntilSuspended (outcomeOf: Parameters<typeof round>[0], maxDays = 40) {
  let passed = 0
  while (passed < maxDays * DAY_MS) {
    if ((await round(outcomeOf)).includes('sospeso')) break
    const ms = Math.max(await untilNext() ?? HOUR_MS, 0)
    await pass(ms)
    passed += ms
  }
  return passed / DAY_MS
}

const empty = () => sql`truncate webhooks, eventi, eventi_in_arrivo cascade`
t.afterEach(empty)

/** A server whose attempts do not time out while a test delays them. */
const patient = await build(t, { WEBHOOKS_TO_LOOPBACK: 'true' }, undefined, { times: { firstDelayMs: 20 } })
const byHand = await hooking(patient)

t.test('a webhook that fails for three days is suspended, with any number of queued objects', async (t) => {
  for (const bookings of [1, 40]) {
    await queueOf(bookings)
    const days = await daysUntilSuspended(() => FAILED)
    t.ok(days >= 3 && days < 3.5, `${bookings} objects: ${days} days`)
    await empty()
  }
})

t.test('days on which this server was off do not count for the suspension', async (t) => {
  await queueOf(40)
  for (let turn = 0; turn < 8; turn++) {
    await round(() => FAILED)
    await pass(await untilNext() ?? 0)
  }
  t.match(await sql`select from webhooks where errori_di_fila >= 10`, { length: 1 }, 'it has failed often enough')
  await pass(20 * DAY_MS)
  t.same(await round(() => FAILED), ['in_coda', 'in_coda'])
  const days = await daysUntilSuspended(() => FAILED)
  t.ok(days > 2 && days < 3.5, `${days} days`)
})

t.test('after one success the three days start again', async (t) => {
  await queueOf(40)
  t.ok(await daysUntilSuspended(() => FAILED, 2) >= 2)
  await round(() => DELIVERED)
  const days = await daysUntilSuspended(() => FAILED)
  t.ok(days >= 3 && days < 3.5, `${days} days`)
})

t.test('a delivery that fails for three days suspends its webhook, even when others succeed', async (t) => {
  await queueOf(40)
  const [{ stuck }] = await sql<[{ stuck: number }]>`select min(id) as stuck from webhook_consegne`
  const days = await daysUntilSuspended(({ id }) => id === stuck ? FAILED : DELIVERED)
  t.ok(days >= 3 && days < 3.5, `${days} days`)
})

t.test('an event with a queued delivery is kept, and a metric shows the age of the queue', async (t) => {
  await queueOf(4)
  await round(({ event }) => /:[12]$/.test(event.oggetto) ? DELIVERED : FAILED)
  await pass(31 * DAY_MS)
  await deleteOldEvents(db)
  t.same((await sql`select oggetto from eventi order by posizione`).map(({ oggetto }) => oggetto as string), [
    'prenotazione:2', 'prenotazione:3', 'prenotazione:4'
  ], 'the event before it is kept, so its cursor stays valid')
  t.match(await sql`select from webhook_consegne where stato = 'in_coda'`, { length: 2 })
  t.ok(Math.abs(await queueAge(db) - 31 * 86_400) < 600)
  await sql`update webhook_consegne set stato = 'consegnata'`
  t.equal(await queueAge(db), 0)
  await deleteOldEvents(db)
  t.match(await sql`select from eventi`, { length: 1 }, 'once it is delivered, it is deleted')
})

/** The remaining back-off of the webhook in milliseconds. */
async function restOf (webhook: number): Promise<number> {
  const [row] = await sql<[{ ms: number }]>`
    select (extract(epoch from fermo_fino_al - now()) * 1000)::float8 as ms from webhooks where id = ${webhook}`
  return row.ms
}

t.test('after a success only the receiver\'s Retry-After still delays attempts', async (t) => {
  const webhook = await queueOf(8)
  const now = { at: new Date(), durationMs: 1 }
  const take = async () => (await claim(db))!
  const write = async () => {}
  for (let n = 0; n < 2; n++) await settle(db, await take(), { ...FAILED, ...now }, FIRST_DELAY_MS, write)
  // Two concurrent attempts: the failure is recorded first.
  const [one, other] = [await take(), await take()]
  await settle(db, one, { ...FAILED, ...now }, FIRST_DELAY_MS, write)
  t.ok(await restOf(webhook) > 1000)
  await settle(db, other, { ...DELIVERED, ...now }, FIRST_DELAY_MS, write)
  t.ok(await restOf(webhook) <= 0)

  const [asking, taken] = [await take(), await take()]
  await settle(db, asking, { ...FAILED, retryAfterMs: HOUR_MS, ...now }, FIRST_DELAY_MS, write)
  await settle(db, taken, { ...DELIVERED, ...now }, FIRST_DELAY_MS, write)
  t.ok(await restOf(webhook) > HOUR_MS / 2, 'a Retry-After of one hour is honoured')
})

const NEVER = new AbortController().signal
const message = (url: string) => ({ url, headers: { 'content-type': 'application/json' }, body: '{}' })
const port = (url: string) => new URL(url).port

t.test('public and private IP addresses are recognised in many spellings', async (t) => {
  for (const address of [
    '8.8.8.8', '151.1.1.1', '2a00:1450:4002:809::200e', '::ffff:8.8.8.8', '172.15.0.1', '172.32.0.1'
  ]) t.ok(isPublicAddress(address), address)
  for (const address of [
    '0.0.0.0', '10.1.2.3', '100.64.0.1', '100.100.100.200', '127.0.0.1', '169.254.169.254', '172.16.0.1',
    '172.31.255.255', '192.0.0.192', '192.168.1.1', '198.18.0.1', '203.0.113.7', '224.0.0.1',
    '255.255.255.255', '168.63.129.16',
    '::', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:a9fe:a9fe', '::7f00:1', '64:ff9b::7f00:1',
    'fc00::1', 'fd00:ec2::254', 'fe80::1', 'fec0::1', 'ff02::1', '2001::1', '2001:db8::1', '2002:7f00:1::',
    '3fff::1', '5f00::1', 'eventi.example', ''
  ]) t.notOk(isPublicAddress(address), address)
})

t.test('no IPv4 address becomes public when it is written as IPv6', async () => {
  fc.assert(fc.property(fc.ipV4(), (address) => {
    const [a, b, c, d] = address.split('.').map(Number) as [number, number, number, number]
    const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
    return isPublicAddress(`::ffff:${hex}`) === isPublicAddress(address) && !isPublicAddress(`::${hex}`) &&
      !isPublicAddress(`64:ff9b::${hex}`) && !isPublicAddress(`2002:${hex}::1`)
  }), { numRuns: 200 })
})

t.test('a URL that is not a valid receiver has a fault that names the reason', async (t) => {
  const { faultOf } = receivers(false)
  t.equal(faultOf('https://eventi.example.org/a?b=c'), undefined)
  for (const [url, fault] of [
    ['eventi.example.org', /completo/],
    ['http://eventi.example.org/', /https/],
    ['https://io:segreto@eventi.example.org/', /credenziali/],
    ['https://eventi.example.org/#a', /frammento/],
    ['https://eventi.example.org:0/', /porta 0/],
    ['https://10.0.0.1/', /pubblico/],
    ['https://gestionale/', /pubblico/],
    ['https://gestionale.local/', /pubblico/],
    ['https://metadata.google.internal/', /pubblico/],
    ['ftp://eventi.example.org/', /https/]
  ] as const) t.match(faultOf(url), fault, url)
})

t.test('a name is resolved once, and nothing is sent if one of its addresses is not public', async (t) => {
  const receiver = await startReceiver(t)
  for (const addresses of [['127.0.0.1'], ['8.8.8.8', '127.0.0.1'], ['::ffff:127.0.0.1'], []]) {
    let asked = 0
    const send = sender(receivers(false, async () => { asked++; return addresses }), 5000)
    t.same(await send(message(`https://eventi.example:${port(receiver.url)}/`), NEVER), {
      stato_http: null, errore: 'INDIRIZZO_VIETATO'
    })
    t.equal(asked, 1)
  }
  for (const url of [receiver.url, receiver.url.replace('127.0.0.1', 'localhost')]) {
    const { errore } = await sender(receivers(false), 5000)(message(url), NEVER)
    t.equal(errore, 'INDIRIZZO_VIETATO', 'a URL that was saved when it was allowed')
  }
  t.equal(receiver.received.length, 0)
})

t.test('Retry-After is a number of seconds or a date, and other values are ignored', async (t) => {
  const now = Date.parse('2026-11-21T10:00:00Z')
  for (const [header, expected] of [
    ['0', 0], ['120', 120_000], ['Sat, 21 Nov 2026 10:00:30 GMT', 30_000], ['Sat, 21 Nov 2026 09:00:00 GMT', 0],
    ['soon', undefined], ['', undefined], [undefined, undefined],
    ['99999999999999', 99_999_999_999_999_000]
  ] as const) t.equal(retryAfterMs(header, now), expected, String(header))
})

const own = selfSigned(t.testdir(), 'DNS:eventi.example')
const skip = own === undefined ? 'openssl is not installed: no certificate to test with' : false

t.test('certificates are verified, and the connection uses the IP address that was checked', { skip }, async (t) => {
  const receiver = await startReceiver(t, own)
  let asked = 0
  const resolve = async () => asked++ === 0 ? ['127.0.0.1'] : ['10.0.0.1']
  const url = `https://eventi.example:${port(receiver.url)}/`
  const refused = await sender(receivers(true, async () => ['127.0.0.1']), 5000)(message(url), NEVER)
  t.match(refused, { stato_http: null, errore: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  t.equal(receiver.received.length, 0)
  trust(t, own!.cert)
  const wrongName = await sender(receivers(true, resolve), 5000)(message(url.replace('eventi.', 'altri.')), NEVER)
  t.match(wrongName, { stato_http: null, errore: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  asked = 0
  t.same(await sender(receivers(true, resolve), 5000)(message(url), NEVER), { stato_http: 204, errore: null })
  t.equal(asked, 1)
  t.match(receiver.received, [{ headers: { host: `eventi.example:${port(receiver.url)}`, connection: 'close' } }])
})

/** The process also trusts this certificate during the test. */
function trust (t: Test, certificate: string): void {
  const before = getCACertificates('default')
  t.teardown(() => setDefaultCACertificates(before))
  setDefaultCACertificates([...before, certificate])
}

t.test('a repeated or test delivery is sent before the queue, even during back-off', async (t) => {
  const { call } = patient
  const { ask, add, find, repeat, deliveries } = byHand
  const receiver = await startReceiver(t)
  receiver.behave = answer(429, { 'retry-after': '9000' })
  const { id } = await add(receiver.url, ['prenotazione.creata'])
  for (let n = 0; n < 6; n++) await create(call)
  await until(async () => {
    const { fermo_fino_al: rest, in_coda: count } = await find(id)
    return rest !== null && count === 6
  })
  const waiting = await deliveries(id, '?stato=in_coda')
  const held = Promise.withResolvers<void>()
  receiver.behave = (received, response) => { void held.promise.then(() => answer(204)(received, response)) }
  receiver.received.length = 0
  // The newest delivery.
  t.equal((await repeat(id, waiting[0]!.id)).statusCode, 200)
  await receiver.await(2)
  // The server makes two attempts at once, and their connections may arrive in either order.
  t.ok(receiver.ids().slice(0, 2).includes(waiting[0]!.evento))
  // Both concurrent attempts are in progress, so this delivery is the next one.
  const { evento } = (await ask('POST', `${WEBHOOKS}/${id}/prova`, {})).json<{ data: { evento: string } }>().data
  held.resolve()
  await receiver.await(3)
  t.equal(receiver.ids()[2], evento)
  t.equal((await find(id)).fermo_fino_al, null)
})

t.test('another process repeats the delivery of a killed process with the same id', async (t) => {
  const receiver = await startReceiver(t)
  receiver.behave = hang
  const shared = { TODAY: '2026-11-21', WEBHOOKS_TO_LOOPBACK: 'true', PUBLIC_URL: 'https://locanda.example' }
  // A process follows the events only when a webhook exists.
  const survivor = await build(t, shared)
  const { app, call, masterKey: MASTER_KEY, url: DATABASE_URL } = survivor
  const { authorization, settled, ask } = await hooking(survivor)
  const child = await startServer({ ...shared, MASTER_KEY, DATABASE_URL, DATA_DIR: temporaryFolder(t) })
  t.teardown(() => child.kill())
  const made = await child.post(WEBHOOKS, { url: receiver.url, tipi: ['prenotazione.creata'] }, { authorization })
  t.equal(made.status, 201)
  const { data: { id } } = await made.json() as { data: { id: number } }

  const { id: booking } = await create(call)
  await receiver.await(1)
  await child.kill()
  t.equal(receiver.received.length, 1)
  receiver.behave = answer(200)
  // The lease of the killed process expires.
  await app.sql`update webhook_consegne set prossimo_tentativo = now() where presa`
  t.equal((await ask('POST', '/api/v1/jobs/webhooks/avvia', {})).statusCode, 200)
  const [delivery] = await settled(id, 'consegnata', 1)
  t.match(delivery, { oggetto: `prenotazione:${booking}`, numero_tentativi: 2, tentativi: [{ stato_http: 200 }] })
  t.same(receiver.ids(), Array(2).fill(delivery!.evento))
})
