import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { carryOut } from '#src/alloggiati/ledger/sending/carry-out.ts'
import { checkSuspension, suspendSending } from '#src/alloggiati/ledger/suspension.ts'
import { sweep } from '#src/alloggiati/ledger/sweep.ts'
import { connect } from '#src/database/connect.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { response } from '#test/alloggiati/service/soap/server.ts'
import { guestNo, held, invio, production, rowsReply, standIn, until } from '#test/alloggiati/stand-in.ts'
import { databaseUrl, testDatabase } from '#test/database.ts'
import { temporaryFolder, type TestApp, writtenWith } from '#test/helper.ts'
import { administrator, detail, INVII, ledgerServer, sent, unknown } from './administrator.ts'
import { ledgerHarness } from './harness.ts'
import { ledgerOf } from './context.ts'

const SUSPENSION = `${INVII}/sospensione`
const ACCOUNT = '/api/v1/alloggiati/account'
const suspensionLogs = ({ logs }: Pick<TestApp, 'logs'>) =>
  logs.filter(({ level, msg }) => level === 50 && /^sending is suspended/.test(String(msg)))
const suspensionOf = async ({ call }: TestApp) => (await call('GET', SUSPENSION)).json()

const shared = await ledgerServer(t)
/** Resets the shared server and its stand-in, and returns both. */
async function reset () {
  await emptied(shared.server, shared.police)
  return shared
}

t.test(
  'during a suspension a request gets a 422 INVII_SOSPESI, calls no service and reserves no guest',
  async (t) => {
    const { police, server, admin, who } = await reset()
    const stopped = await admin('POST', SUSPENSION, { sospeso: true, motivo: 'Controllo delle credenziali' })
    t.match(stopped.json(), {
      sospeso: true, motivo: 'Controllo delle credenziali', chi: await who(), dal: /^\d{4}-.+Z$/
    })
    t.strictSame(await suspensionOf(server), stopped.json())
    const refused = await server.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
    t.match(refused.json(), {
      status: 422, codice: 'INVII_SOSPESI', success: false, error: /POST \/api\/v1\/invii\/sospensione/
    })
    const async = { prefer: 'respond-async', 'idempotency-key': 'una' }
    for (const request of ['first request', 'repeated request with the same key']) {
      const response = await server.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]), async)
      t.match(response.json(), { status: 422, codice: 'INVII_SOSPESI' }, request)
    }
    const day = await server.call('POST', `${INVII}/giornata`, {}, { prefer: 'respond-async' })
    t.match(day.json(), { status: 422, codice: 'INVII_SOSPESI' })
    t.same(await server.app.sql`select from invii`, [], 'nothing is stored')
    t.same(police.startedCalls, [])
    t.match((await admin('POST', SUSPENSION, { sospeso: false, motivo: 'Tutto in ordine' })).json(), {
      sospeso: false,
      motivo: null
    })
    t.equal((await server.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).statusCode, 200)
  }
)

t.test('a decision to send again is refused during a suspension', async (t) => {
  const { police, server, admin, decide } = await reset()
  const id = await unknown(police, server)
  await admin('POST', SUSPENSION, { sospeso: true, motivo: 'Controllo delle credenziali' })
  t.match((await decide(id, 'reinvia')).json(), { status: 422, codice: 'INVII_SOSPESI' })
  t.match(await detail(server, id), { stato: 'sconosciuto', decisioni: [] })
  t.equal((await decide(id, 'acquisito')).statusCode, 200, 'other decisions are allowed')
})

t.test(
  'a submission that is ready when a suspension begins stays ready, and is sent after sending is resumed',
  async (t) => {
    const { police, server, admin, decide } = await reset()
    const id = await unknown(police, server)
    police.on.Test = (socket) => socket.resetAndDestroy()
    await decide(id, 'reinvia')
    delete police.on.Test
    await admin('POST', SUSPENSION, { sospeso: true, motivo: 'Controllo delle credenziali' })
    await server.app.sql`update invii set lease_fino_al = now() - interval '1 hour'`
    const { app } = await production(t, police, { DATABASE_URL: server.url, DATA_DIR: server.dataDir })
    const unseen = () =>
      server.app.sql`select from invii where stato = 'pronto' and lease_fino_al < now() - interval '50 minutes'`
    await until(async () => (await unseen()).length === 0)
    t.equal((await detail(server, id)).stato, 'pronto')
    t.equal(police.callsOf('Send').length, 1)
    await app.close()
    await admin('POST', SUSPENSION, { sospeso: false, motivo: 'Si riprende' })
    await until(async () => (await detail(server, id)).stato === 'acquisito')
  }
)

t.test('a database restored from an older backup sends nothing until an administrator resumes sending', async (t) => {
  const police = await standIn(t)
  const DATA_DIR = temporaryFolder(t)
  const first = await production(t, police, { DATA_DIR })
  await sent(first, [guestNo(1)])
  await first.app.close()
  const backup = await copyOf(t, first.url)

  const later = await production(t, police, { DATA_DIR, DATABASE_URL: first.url })
  await sent(later, [guestNo(2)])
  await later.app.close()
  t.equal(police.callsOf('Send').length, 2)

  const restored = await production(t, police, { DATA_DIR, DATABASE_URL: backup })
  t.equal(suspensionLogs(restored).length, 1, 'one log line reports it')
  t.match(await suspensionOf(restored), { sospeso: true, chi: 'sistema', motivo: /salvataggio/ })
  const again = () => restored.call('POST', '/api/alloggiati/invio', invio([guestNo(2)]))
  t.match((await again()).json(), { status: 422, codice: 'INVII_SOSPESI' }, 'the older database lacks this guest')
  t.equal(police.callsOf('Send').length, 2)

  const { admin } = administrator(restored)
  t.match((await admin('POST', SUSPENSION, { sospeso: false, motivo: 'Confrontato con il portale' })).json(), {
    sospeso: false
  })
  t.equal((await restored.call('POST', '/api/alloggiati/invio', invio([guestNo(3)]))).statusCode, 200)
  const restarted = await production(t, police, { DATA_DIR, DATABASE_URL: backup })
  t.match(await suspensionOf(restarted), { sospeso: false }, 'the resumed database is accepted from now on')
})

t.test('a restored older database is reported even if a person has suspended sending before', async (t) => {
  const { db, dataDir, worker, reserve } = await ledgerHarness(t)
  const { id } = await reserve([guestNo(1)])
  await carryOut(await worker(), id, true)
  await suspendSending(db, 'anna', 'ferie')
  writeFileSync(join(dataDir, 'ledger-chain.json'), JSON.stringify({ id: 999, hash: 'ab'.repeat(32) }))
  const context = await worker()
  for (const check of ['the first check', 'the second check']) {
    t.match(await checkSuspension(context), { chi: 'anna', motivo: /^ferie\. .*mancano gli ultimi invii/ }, check)
  }
})

t.test('while the chain head is unreadable no guest is sent, and the sweep still handles expired leases', async (t) => {
  for (const kind of ['no JSON', 'a directory']) {
    await t.test(kind, async (t) => {
      const { police, server, admin } = await ledgerServer(t)
      await sent(server, [guestNo(1)])
      await unknown(police, server)
      const head = join(server.dataDir, 'ledger-chain.json')
      rmSync(head)
      if (kind === 'a directory') mkdirSync(head)
      else writeFileSync(head, '{"id":')
      const sends = police.callsOf('Send').length
      for (let n = 0; n < 2; n++) {
        const refused = await server.call('POST', '/api/alloggiati/invio', invio([guestNo(7)]))
        t.match(refused.json(), { status: 422, codice: 'INVII_SOSPESI' })
        t.equal(suspensionLogs(server).length, 1, 'only the first Send raises the alarm')
      }
      t.equal(police.callsOf('Send').length, sends)
      t.match(await suspensionOf(server), { sospeso: true, chi: 'sistema', motivo: /non si può leggere/ })
      t.match((await admin('GET', `${INVII}/verifica`)).json(), {
        status: 200, integra: false, prima_riga_errata: { motivo: /non si può leggere/ }
      })

      await server.app.sql`update invii_sospensioni set tolta_il = now()`
      await server.app.sql`alter table invii disable trigger user`
      await server.app.sql`
        update invii set stato = 'preso', proprietario = 'morto', lease_fino_al = now() - interval '1 second'
        where stato = 'sconosciuto'`
      await server.app.sql`alter table invii enable trigger user`
      await sweep(await ledgerOf(server, police))
      t.same(await server.app.sql`select from invii where stato = 'preso'`, [], 'the sweep still runs')
      t.equal(suspensionLogs(server).length, 2, 'one log line for each suspension')
      const resumed = await admin('POST', SUSPENSION, { sospeso: false, motivo: 'Rimesso a posto' })
      t.equal(resumed.statusCode, kind === 'a directory' ? 503 : 200)
    })
  }
})

t.test('when the data folder is missing no guest is sent, and the caller gets the reason', async (t) => {
  const { police, reserve, states, worker, logs, sql, headIn } = await ledgerHarness(t)
  const folder = join(temporaryFolder(t), 'away')
  const { id } = await reserve([guestNo(1)])
  const mine = await worker({ chainHead: headIn(folder) })
  t.match(await carryOut(mine, id, true), { stato: 'non_inviato', causa: 'CARTELLA_NON_SCRIVIBILE' })
  t.notOk(police.startedCalls.includes('Send'))
  t.same(await states(), ['non_inviato/non_inviata'])
  const alarms = () => logs.filter(({ msg }) => msg === 'the data folder is not writable: nothing is sent')
  t.match(alarms(), [{ level: 50, macchina: 'prova', errore: 'codice ENOENT' }], 'the Send raises the alarm')
  await sweep(mine)
  t.equal(alarms().length, 1, 'once a day')
  await sql`delete from allarmi`
  await sweep(mine)
  t.equal(alarms().length, 2, 'the sweep raises the alarm, too')
})

t.test('a truncated chain that only the dispatch detects stops the Send, and raises an alarm at once', async (t) => {
  const { police, reserve, states, worker, logs, headIn, db } = await ledgerHarness(t)
  const folder = temporaryFolder(t)
  const { id } = await reserve([guestNo(1)])
  const testCall = held()
  police.on.Test = testCall.behaviour
  const sending = carryOut(await worker({ chainHead: headIn(folder) }), id, true)
  await testCall.arrived
  // Simulates another process that has recorded a chain head which this database lacks.
  await headIn(folder).note(db, { id: 4711, hash: '00' })
  testCall.release(response(rowsReply('Test', [true])))
  t.match(await sending, { stato: 'non_inviato', causa: 'INVII_SOSPESI' })
  t.notOk(police.startedCalls.includes('Send'))
  t.same(await states(), ['non_inviato/non_inviata'])
  t.equal(suspensionLogs({ logs }).length, 1)
})

t.test('no guest is sent twice when an older copy replaces the database of running servers', async (t) => {
  const before = await production(t, await standIn(t))
  await sent(before, [guestNo(1)])
  await before.app.close()
  await t.test('two processes with one folder', async (t) => {
    const { police, servers: [first, second], replace } = await replaceable(t, before, 'together')
    await sent(first, [guestNo(2)])
    await replace()
    for (const { call } of [second, first]) {
      t.match((await call('POST', '/api/alloggiati/invio', invio([guestNo(2)]))).json(), { codice: 'INVII_SOSPESI' })
    }
    t.equal(police.callsOf('Send').length, 1)
  })
  await t.test('two processes with separate folders: one that did not send detects the older database', async (t) => {
    const { police, servers: [first, second], replace } = await replaceable(t, before, 'apart')
    await sent(first, [guestNo(2)])
    await sweep(await ledgerOf(second, police))
    await first.app.close()
    await replace()
    await until(async () => (await suspensionOf(second)).sospeso === true)
    const again = await second.call('POST', '/api/alloggiati/invio', invio([guestNo(2)]))
    t.match(again.json(), { codice: 'INVII_SOSPESI' })
    t.equal(police.callsOf('Send').length, 1)
  })
})

t.test('the same database on another machine does not count as an older one', async (t) => {
  const { police, server: first } = await reset()
  await sent(first)
  const moved = await production(t, police, { DATABASE_URL: first.url })
  t.match(await suspensionOf(moved), { sospeso: false })
})

t.test('the account is shown without secrets, and is exclusive only if an administrator says so', async (t) => {
  const { server, admin } = await reset()
  const shown = await server.call('GET', ACCOUNT)
  t.strictSame(shown.json(), { utente: 'RM000001', modalita: 'production', canale_esclusivo: false })
  t.equal((await server.call('PUT', ACCOUNT, { canale_esclusivo: true })).statusCode, 403)
  for (const canale_esclusivo of [true, false, true]) {
    t.match((await admin('PUT', ACCOUNT, { canale_esclusivo })).json(), { utente: 'RM000001', canale_esclusivo })
    t.match((await server.call('GET', ACCOUNT)).json(), { canale_esclusivo })
  }
})

/** Copies a database without open connections. Returns the URL of the copy. */
async function copyOf (t: Test, url: string): Promise<string> {
  const { url: copy } = await testDatabase(t)
  const [source, target] = [url, copy].map((each) => new URL(each).pathname.slice(1))
  const { sql, close } = connect(databaseUrl(url, 'postgres'), 1)
  try {
    await sql.unsafe(`drop database ${target}`)
    await sql.unsafe(`create database ${target} template ${source}`)
  } finally {
    await close()
  }
  return copy
}

/**
 * Starts two servers on a copy of the database of `before`. `replace` replaces their database with a new copy.
 * @param before a closed server that has sent one guest
 */
async function replaceable (t: Test, before: TestApp, folders: 'together' | 'apart') {
  const police = await standIn(t)
  const url = await copyOf(t, before.url)
  writtenWith(url, Buffer.from(before.masterKey, 'base64'))
  const start = () => production(t, police, {
    DATABASE_URL: url,
    ...(folders === 'together' ? { DATA_DIR: before.dataDir } : {})
  })
  const servers = [await start(), await start()] as const
  return {
    police,
    servers,
    async replace () {
      const [present, backup] = [url, before.url].map((each) => new URL(each).pathname.slice(1))
      const { sql, close } = connect(databaseUrl(url, 'postgres'), 1)
      await sql.unsafe(`drop database ${present} with (force)`)
      await sql.unsafe(`create database ${present} template ${backup}`)
      await close()
      await until(async () => (await servers[1].call('GET', SUSPENSION)).statusCode === 200)
    }
  }
}
