import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Booking } from '#schemas/booking.ts'
import { sweep } from '#src/alloggiati/ledger/sweep.ts'
import { guestNo, invio, production, standIn, until } from '#test/alloggiati/stand-in.ts'
import { BOOKINGS, booking } from '#test/bookings/samples.ts'
import { caughtUp, cutOff, replicatedPair } from '#test/standby.ts'
import { administrator, INVII, sent } from './administrator.ts'
import { ledgerOf } from './context.ts'

const SUSPENSION = `${INVII}/sospensione`

t.test('a standby without the last rows replaces a lost primary', async (t) => {
  const { primary, standby } = await replicatedPair(t)
  const police = await standIn(t)
  const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`
  const environ = { DATABASE_URL: `postgres://locanda@${hosts}/locanda` }
  // Each process is on its own machine.
  const lost = await production(t, police, environ)
  const survivor = await production(t, police, environ)
  const suspension = async () => (await survivor.call('GET', SUSPENSION)).json<{ sospeso: boolean, motivo: string }>()
  await sent(lost, [guestNo(1)])
  await sweep(await ledgerOf(survivor, police))
  await caughtUp(primary)

  await cutOff(standby)
  await sent(lost, [guestNo(2)])
  t.equal(police.callsOf('Send').length, 2)
  await lost.app.close()
  await primary.crash()

  const once = (key: string) =>
    survivor.call('POST', BOOKINGS, booking({ nome_cognome: key }), { 'idempotency-key': key })
  const names = async () => {
    const found = await survivor.call('GET', BOOKINGS)
    return found.json<{ data: Booking[] }>().data.map(({ nome_cognome }) => nome_cognome).toSorted()
  }
  const keys = Array.from({ length: 12 }, (_, n) => `prenotazione-${n + 10}`)

  await t.test('during the failover, requests get a 503 with Retry-After within a minute', async (t) => {
    const from = performance.now()
    for (const response of await Promise.all(keys.map(once))) {
      t.match(response, { statusCode: 503, headers: { 'retry-after': '5' } })
      t.match(response.json(), { codice: 'DATABASE_NON_DISPONIBILE' })
    }
    t.ok(performance.now() - from < 60_000)
  })

  await t.test('after the failover the same requests are executed once, without a restart', async (t) => {
    await standby.sql`select pg_promote()`
    for (const key of keys) {
      for (; (await once(key)).statusCode !== 201; await sleep(50));
      t.equal((await once(key)).headers['idempotency-replayed'], 'true')
    }
    t.same(await names(), keys)
  })

  await t.test('a process whose database lost rows sends no guests, and reports the reason once', async (t) => {
    await until(async () => (await suspension()).sospeso)
    t.match(await suspension(), { chi: 'sistema', motivo: /replica.*confrontare le ricevute/ })
    const again = () => survivor.call('POST', '/api/alloggiati/invio', invio([guestNo(2)]))
    t.match((await again()).json(), { status: 422, codice: 'INVII_SOSPESI' }, 'it was sent, and no row records it')
    await sweep(await ledgerOf(survivor, police))
    t.equal(police.callsOf('Send').length, 2)
    const alarms = survivor.logs.filter(({ level, msg }) => level === 50 && /^sending is suspended/.test(String(msg)))
    t.equal(alarms.length, 1)
  })

  await t.test('an administrator resumes sending, and a restart does not suspend it again', async (t) => {
    const { admin } = administrator(survivor)
    const resumed = await admin('POST', SUSPENSION, { sospeso: false, motivo: 'Ricevute confrontate' })
    t.match(resumed.json(), { sospeso: false })
    t.equal((await survivor.call('POST', '/api/alloggiati/invio', invio([guestNo(3)]))).statusCode, 200)
    const restarted = await production(t, police, environ)
    t.match((await restarted.call('GET', SUSPENSION)).json(), { sospeso: false })
    t.equal(police.callsOf('Send').length, 3)
  })
})
