import t from 'tap'
import { forgetOldEvents } from '#src/operations/events/order.ts'
import { queueAge } from '#src/operations/webhooks/deliveries.ts'
import { claim, readyWebhooks, settle, untilDue, type Claimed, type Settled } from '#src/operations/webhooks/queue.ts'
import { testDatabase } from '#test/database.ts'

const TIMES = { firstDelayMs: 5000, leaseMs: 30_000 }
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** As many as a process makes at a time. */
const AT_ONCE = 2
const FAILED = { stato_http: 503, errore: null }
const DELIVERED = { stato_http: 204, errore: null }

const { sql, db } = await testDatabase(t)

/** A webhook for which the events of so many bookings wait. */
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

/** So much later: everything else has come earlier. */
async function pass (ms: number): Promise<void> {
  const past = sql`${ms} * interval '1 millisecond'`
  await sql`update webhooks set fermo_fino_al = fermo_fino_al - ${past}, errori_dal = errori_dal - ${past},
    ultimo_errore = ultimo_errore - ${past}`
  await sql`update webhook_consegne set prossimo_tentativo = prossimo_tentativo - ${past},
    provata_dal = provata_dal - ${past}, creata_il = creata_il - ${past}`
  await sql`update eventi set quando = quando - ${past}`
}

/** Milliseconds until something is due that is not due now. */
const untilNext = async () => await untilDue(db, (await readyWebhooks(db)).asOf)

/** What a process attempts when something is due. */
async function round (webhook: number, outcomeOf: (claimed: Claimed) => typeof FAILED | typeof DELIVERED) {
  const taken: Claimed[] = []
  while (taken.length < AT_ONCE && (await readyWebhooks(db)).ids.includes(webhook)) {
    const claimed = await claim(db, webhook, TIMES)
    if (!claimed) break
    taken.push(claimed)
  }
  const settled: Settled[] = []
  for (const claimed of taken) {
    const outcome = { ...outcomeOf(claimed), at: new Date(), durationMs: 1 }
    settled.push(await settle(db, claimed, outcome, TIMES, async () => {}))
  }
  return settled
}

/** Days until the webhook is suspended, or as many as were looked at; `outcomeOf` says what its receiver does. */
async function daysUntilSuspended (webhook: number, outcomeOf: Parameters<typeof round>[1], most = 40) {
  let passed = 0
  while (passed < most * DAY_MS) {
    if ((await round(webhook, outcomeOf)).includes('sospeso')) break
    const ms = Math.max(await untilNext() ?? HOUR_MS, 0)
    await pass(ms)
    passed += ms
  }
  return passed / DAY_MS
}

const empty = () => sql`truncate webhooks, eventi, eventi_in_arrivo cascade`
t.afterEach(empty)

t.test('a receiver that takes nothing for three days is suspended, however many objects wait', async (t) => {
  for (const bookings of [1, 40]) {
    const days = await daysUntilSuspended(await queueOf(bookings), () => FAILED)
    t.ok(days >= 3 && days < 3.5, `${bookings} objects: ${days} days`)
    await empty()
  }
})

t.test('days on which this server was off do not count against a receiver', async (t) => {
  const webhook = await queueOf(40)
  for (let turn = 0; turn < 8; turn++) {
    await round(webhook, () => FAILED)
    await pass(await untilNext() ?? 0)
  }
  t.match(await sql`select from webhooks where errori_di_fila >= 10`, { length: 1 }, 'it has failed often enough')
  await pass(20 * DAY_MS)
  t.same(await round(webhook, () => FAILED), ['in_coda', 'in_coda'])
  const days = await daysUntilSuspended(webhook, () => FAILED)
  t.ok(days > 2 && days < 3.5, `${days} days`)
})

t.test('one success begins the three days anew', async (t) => {
  const webhook = await queueOf(40)
  t.ok(await daysUntilSuspended(webhook, () => FAILED, 2) >= 2)
  await round(webhook, () => DELIVERED)
  const days = await daysUntilSuspended(webhook, () => FAILED)
  t.ok(days >= 3 && days < 3.5, `${days} days`)
})

t.test('a delivery that fails for three days suspends its webhook, though others arrive', async (t) => {
  const webhook = await queueOf(40)
  const [{ stuck }] = await sql<[{ stuck: number }]>`select min(id) as stuck from webhook_consegne`
  const days = await daysUntilSuspended(webhook, ({ id }) => id === stuck ? FAILED : DELIVERED)
  t.ok(days >= 3 && days < 3.5, `${days} days`)
})

t.test('what waits for a delivery is not forgotten, and it is told for how long it has waited', async (t) => {
  const webhook = await queueOf(4)
  await round(webhook, ({ event }) => /:[12]$/.test(event.oggetto) ? DELIVERED : FAILED)
  await pass(31 * DAY_MS)
  await forgetOldEvents(db)
  t.same((await sql`select oggetto from eventi order by posizione`).map(({ oggetto }) => oggetto as string), [
    'prenotazione:2', 'prenotazione:3', 'prenotazione:4'
  ], 'and the last one before it, for who has read up to there')
  t.match(await sql`select from webhook_consegne where stato = 'in_coda'`, { length: 2 })
  t.ok(Math.abs(await queueAge(db) - 31 * 86_400) < 600)
  await sql`update webhook_consegne set stato = 'consegnata'`
  t.equal(await queueAge(db), 0)
  await forgetOldEvents(db)
  t.match(await sql`select from eventi`, { length: 1 }, 'once it is delivered, it goes')
})

/** Until when the webhook rests, from now, in milliseconds. */
async function restOf (webhook: number): Promise<number> {
  const [row] = await sql<[{ ms: number }]>`
    select (extract(epoch from fermo_fino_al - now()) * 1000)::float8 as ms from webhooks where id = ${webhook}`
  return row.ms
}

t.test('a receiver that takes something again is left alone only for the time that it has asked for', async (t) => {
  const webhook = await queueOf(8)
  const now = { at: new Date(), durationMs: 1 }
  const take = async () => (await claim(db, webhook, TIMES))!
  const write = async () => {}
  for (let n = 0; n < 3; n++) await settle(db, await take(), { ...FAILED, ...now }, TIMES, write)
  // Two at a time, of which the one that fails is noted first.
  const [one, other] = [await take(), await take()]
  await settle(db, one, { ...FAILED, ...now }, TIMES, write)
  t.ok(await restOf(webhook) > 1000)
  await settle(db, other, { ...DELIVERED, ...now }, TIMES, write)
  t.ok(await restOf(webhook) <= 0)
  t.same((await readyWebhooks(db)).ids, [webhook])

  const [asking, taken] = [await take(), await take()]
  await settle(db, asking, { ...FAILED, retryAfterMs: HOUR_MS, ...now }, TIMES, write)
  await settle(db, taken, { ...DELIVERED, ...now }, TIMES, write)
  t.ok(await restOf(webhook) > HOUR_MS / 2, 'one that has asked for an hour has it')
})

t.test('what a receiver has asked for holds after a success, also where it has failed often', async (t) => {
  const webhook = await queueOf(5)
  const now = { at: new Date(), durationMs: 1 }
  const take = async () => (await claim(db, webhook, TIMES))!
  const write = async () => {}
  for (let n = 0; n < 3; n++) await settle(db, await take(), { ...FAILED, ...now }, TIMES, write)
  const [asking, taken] = [await take(), await take()]
  await settle(db, asking, { ...FAILED, retryAfterMs: HOUR_MS, ...now }, TIMES, write)
  await settle(db, taken, { ...DELIVERED, ...now }, TIMES, write)
  const rest = await restOf(webhook)
  t.ok(rest > HOUR_MS / 2 && rest <= HOUR_MS, String(rest))
})

t.test('what comes due while a process looks for what is due is found, and it looks again at once', async (t) => {
  const webhook = await queueOf(1)
  const cases = {
    'a delivery': (due: string) => sql`update webhook_consegne set prossimo_tentativo = ${due}::timestamptz`,
    'the end of a rest': (due: string) => sql`update webhooks set fermo_fino_al = ${due}::timestamptz`
  }
  for (const [what, change] of Object.entries(cases)) {
    await change('tomorrow')
    const { ids, asOf } = await readyWebhooks(db)
    // It has no delivery that is due, or may not be served.
    for (const id of ids) t.equal(await claim(db, id, TIMES), undefined)
    const [{ soon } = { soon: '' }] = await sql<{ soon: string }[]>`
      select (${asOf}::timestamptz + interval '5 milliseconds')::text as soon`
    await change(soon)
    await sql`select pg_sleep(0.01)`
    t.ok((await untilDue(db, asOf) ?? Infinity) <= 0, what)
    t.same((await readyWebhooks(db)).ids, [webhook])
  }
})
