import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { audit_log } from '#drizzle/tables/audit.ts'
import { chainHead } from '#src/database/chain-head.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { testDatabase } from '#test/database.ts'
import { build, temporaryFolder, type TestApp } from '#test/helper.ts'
import { AUDIT, admin, bench, entry } from './samples.ts'

/* The last row is noted outside the database, because a chain cannot detect the loss of its last rows. */

const LOST = 'the audit log has lost its last rows: see GET /api/v1/audit/verifica'
const lossReports = ({ logs }: TestApp) => logs.filter(({ level, msg }) => level === 50 && msg === LOST).length
const headOf = ({ dataDir }: Pick<TestApp, 'dataDir'>) => join(dataDir, 'audit-chain.json')
const notedIn = (server: Pick<TestApp, 'dataDir'>) =>
  existsSync(headOf(server)) ? (JSON.parse(readFileSync(headOf(server), 'utf8')).id as number) : 0

async function fill ({ app }: TestApp, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await app.audit.append(app.db, entry(n))
}

/** Deletes the last rows, with the triggers disabled. */
async function cut ({ app }: TestApp, from: number): Promise<void> {
  await app.sql.unsafe(
    `alter table audit_log disable trigger all; delete from audit_log where id >= ${from}; ` +
      'alter table audit_log enable trigger all'
  )
}

/** Another process on the same database and folder. */
function again (t: Test, { url, dataDir }: TestApp): Promise<TestApp> {
  return build(t, { DATABASE_URL: url, DATA_DIR: dataDir })
}

t.test('the last row is noted at verification and shutdown, and only its owner can read the note', async (t) => {
  const server = await build(t)
  t.equal(notedIn(server), 0)
  await fill(server, 3)
  t.match(await server.app.audit.verify(), { integro: true, righe: 3 })
  t.equal(notedIn(server), 3)
  await fill(server, 2)
  await server.app.close()
  t.equal(notedIn(server), 5)
  t.equal(statSync(headOf(server)).mode & 0o777, 0o600)
})

t.test('verification and the next start detect a truncated tail', async (t) => {
  const server = await build(t)
  const call = await admin(server)
  await fill(server, 6)
  t.same((await call('GET', `${AUDIT}/verifica`)).json(), {
    integro: true,
    righe: 6,
    prima_riga_errata: null,
    status: 200
  })
  await cut(server, 5)
  const shortened = { integro: false, righe: 4, prima_riga_errata: 5, status: 200 }
  t.same((await call('GET', `${AUDIT}/verifica`)).json(), shortened)
  t.same((await call('GET', `${AUDIT}/verifica`)).json(), shortened, 'the loss stays reported')
  await server.app.close()
  t.equal(notedIn(server), 6, 'shutdown does not accept the shorter log')

  const next = await again(t, server)
  await until(() => lossReports(next) === 1)
  t.match(await next.app.audit.verify(), { integro: false, prima_riga_errata: 5 })
  await fill(next, 4)
  t.match(await next.app.audit.verify(), { integro: false, righe: 8, prima_riga_errata: 6 }, 'the error remains')
})

t.test('a process detects the loss of a row that another process on the same folder noted', async (t) => {
  const server = await build(t)
  await fill(server, 2)
  await server.app.audit.verify()
  const other = await again(t, server)
  await other.app.audit.verify()
  await fill(server, 3)
  await server.app.audit.verify()
  await cut(server, 4)
  t.match(await other.app.audit.verify(), { integro: false, righe: 3, prima_riga_errata: 4 })
})

t.test('a later note does not hide tampering that was found', async (t) => {
  const server = await build(t)
  await fill(server, 3)
  await server.app.sql.unsafe(
    "alter table audit_log disable trigger all; update audit_log set actor = 'altri' where id = 2"
  )
  t.match(await server.app.audit.verify(), { integro: false, righe: 3, prima_riga_errata: 2 })
  await server.app.close()
  const next = await again(t, server)
  t.match(await next.app.audit.verify(), { integro: false, righe: 3, prima_riga_errata: 2 })
})

t.test(
  'a database restored from an older copy is not intact until the note is deleted',
  async (t) => {
    const DATA_DIR = temporaryFolder(t)
    const first = await build(t, { DATA_DIR })
    await fill(first, 4)
    await first.app.close()
    const older = await build(t, { DATA_DIR })
    await until(() => lossReports(older) === 1)
    t.match(await older.app.audit.verify(), { integro: false, righe: 0, prima_riga_errata: 1 })
    rmSync(headOf(older))
    t.match(await older.app.audit.verify(), { integro: true, righe: 0, prima_riga_errata: null })
  }
)

t.test('an unreadable note makes verification fail', async (t) => {
  const server = await build(t)
  await fill(server, 2)
  await server.app.audit.verify()
  // No PostgreSQL row can have the id in the second to last text.
  const texts = [
    '', '{', 'null', '{"id":2}', '{"id":"2","hash":""}', '{"id":3000000000,"hash":"x"}', '{"id":0,"hash":""}'
  ]
  for (const text of texts) {
    writeFileSync(headOf(server), text)
    await t.rejects(server.app.audit.verify(), { message: 'audit-chain.json is not readable' }, text)
  }
})

t.test('a server shuts down although its audit table is missing', async (t) => {
  const server = await build(t)
  await server.app.sql`drop table audit_log`
  await server.app.close()
  t.ok(server.logs.some(({ level, msg }) => level === 50 &&
    msg === 'the chain head of the audit log could not be noted'))
})

t.test('after two concurrent notes the later row stays, in either order', async (t) => {
  const { db, audit } = await bench(t)
  for (const n of [1, 2]) await audit.append(db, entry(n))
  const file = join(temporaryFolder(t), 'prova.head')
  const head = chainHead(file, audit_log)
  const links = (await db.select({ id: audit_log.id, hash: audit_log.hash }).from(audit_log).orderBy(audit_log.id))
    .map(({ id, hash }) => ({ id, hash: hash.toString('hex') }))
  for (let round = 0; round < 40; round++) {
    rmSync(file, { force: true })
    await Promise.all((round % 2 ? links : links.toReversed()).map((link) => head.note(db, link)))
    if ((await head.last())?.id !== 2) t.fail(`the earlier link stays in round ${round}`)
  }
  t.strictSame(await head.last(), links[1])
})

t.test('a failed note leaves no temporary file, and the next one succeeds', async (t) => {
  const { db } = await testDatabase(t)
  const folder = temporaryFolder(t)
  const file = join(folder, 'prova.head')
  const head = chainHead(file, audit_log)
  const link = { id: 1, hash: 'ab' }
  mkdirSync(file)
  await t.rejects(head.note(db, link), { message: 'prova.head cannot be written' })
  t.same(readdirSync(folder), ['prova.head'])
  rmSync(file, { recursive: true })
  await head.note(db, link)
  t.same(readdirSync(folder), ['prova.head'])
})
