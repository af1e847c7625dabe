import { randomBytes, randomUUID } from 'node:crypto'
import {
  existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { audit_log } from '#drizzle/tables/audit.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { canonical, linkHash, type AuditRow } from '#src/services/audit/link.ts'
import { chainHead } from '#src/database/chain-head.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { anyCharacter } from '#test/any-character.ts'
import { testDatabase } from '#test/database.ts'
import { build, temporaryFolder, type TestApp } from '#test/helper.ts'
import { AUDIT, admin, bench, entry } from './samples.ts'

/* The end of the log, kept outside of the database: a chain cannot see the loss of its own tail. */

const LOST = 'the audit log has lost its end: see GET /api/v1/audit/verifica'
const told = ({ logs }: TestApp) => logs.filter(({ level, msg }) => level === 50 && msg === LOST).length
const headOf = ({ dataDir }: Pick<TestApp, 'dataDir'>) => join(dataDir, 'audit.head')
const notedIn = (server: Pick<TestApp, 'dataDir'>) =>
  existsSync(headOf(server)) ? (JSON.parse(readFileSync(headOf(server), 'utf8')).id as number) : 0

async function fill ({ app }: TestApp, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await app.audit.append(app.db, entry(n))
}

/** Takes the last rows out, behind the triggers. */
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

t.test('the end is noted when the log is verified and when the server closes, for its owner alone', async (t) => {
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

t.test('a tail that was cut off is missed: by verification, and by the next start', async (t) => {
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
  const wanting = { integro: false, righe: 4, prima_riga_errata: 5, status: 200 }
  t.same((await call('GET', `${AUDIT}/verifica`)).json(), wanting)
  t.same((await call('GET', `${AUDIT}/verifica`)).json(), wanting, 'whatever is asked, it stays known')
  await server.app.close()
  t.equal(notedIn(server), 6, 'a close does not make the short log the true one')

  const next = await again(t, server)
  await until(() => told(next) === 1)
  t.match(await next.app.audit.verify(), { integro: false, prima_riga_errata: 5 })
  await fill(next, 4)
  t.match(await next.app.audit.verify(), { integro: false, righe: 8, prima_riga_errata: 6 }, 'nor do later entries')
})

t.test('an end that one process has noted is missed by another one on the same folder', async (t) => {
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

t.test('a fault that was found is not covered by a later note of the end', async (t) => {
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
  'a database put back from an older copy is not the log whose end was noted, until the note is taken away',
  async (t) => {
    const DATA_DIR = temporaryFolder(t)
    const first = await build(t, { DATA_DIR })
    await fill(first, 4)
    await first.app.close()
    const older = await build(t, { DATA_DIR })
    await until(() => told(older) === 1)
    t.match(await older.app.audit.verify(), { integro: false, righe: 0, prima_riga_errata: 1 })
    rmSync(headOf(older))
    t.match(await older.app.audit.verify(), { integro: true, righe: 0, prima_riga_errata: null })
  }
)

t.test('a note that cannot be read is no proof: nothing is called intact', async (t) => {
  const server = await build(t)
  await fill(server, 2)
  await server.app.audit.verify()
  // No row of PostgreSQL has the number of the last but one.
  const texts = [
    '', '{', 'null', '{"id":2}', '{"id":"2","hash":""}', '{"id":3000000000,"hash":"x"}', '{"id":0,"hash":""}'
  ]
  for (const text of texts) {
    writeFileSync(headOf(server), text)
    await t.rejects(server.app.audit.verify(), { message: 'audit.head is not readable' }, text)
  }
})

t.test('write access to the folder does not suffice to note an older end of the log', async (t) => {
  const server = await build(t)
  await fill(server, 2)
  await server.app.audit.verify()
  const older = JSON.parse(readFileSync(headOf(server), 'utf8'))
  await fill(server, 2)
  await server.app.audit.verify()
  const { mac, ...present } = JSON.parse(readFileSync(headOf(server), 'utf8'))
  await cut(server, 3)
  const { id, hash } = older
  for (const forged of [{ id, hash }, { id, hash, mac }, { ...older, mac: null }, { ...present, mac: older.mac }]) {
    writeFileSync(headOf(server), JSON.stringify(forged))
    await t.rejects(server.app.audit.verify(), { message: 'audit.head is not readable' }, JSON.stringify(forged))
  }
})

t.test('the note of one chain is none of another', async (t) => {
  const { db } = await testDatabase(t)
  const folder = temporaryFolder(t)
  const keys = createKeys(randomBytes(32))
  await chainHead(join(folder, 'una.head'), audit_log, keys).note(db, { id: 1, hash: 'ab' })
  renameSync(join(folder, 'una.head'), join(folder, 'altra.head'))
  await t.rejects(chainHead(join(folder, 'altra.head'), audit_log, keys).last(), {
    message: 'altra.head is not readable'
  })
})

t.test('a server closes although its log is gone', async (t) => {
  const server = await build(t)
  await server.app.sql`drop table audit_log`
  await server.app.close()
  t.ok(server.logs.some(({ level, msg }) => level === 50 && msg === 'the end of the audit log could not be noted'))
})

t.test('after two notes at once the later link stays, whichever is asked for first', async (t) => {
  const { db, audit } = await bench(t)
  for (const n of [1, 2]) await audit.append(db, entry(n))
  const file = join(temporaryFolder(t), 'prova.head')
  const head = chainHead(file, audit_log, createKeys(randomBytes(32)))
  const links = (await db.select({ id: audit_log.id, hash: audit_log.hash }).from(audit_log).orderBy(audit_log.id))
    .map(({ id, hash }) => ({ id, hash: hash.toString('hex') }))
  for (let round = 0; round < 40; round++) {
    rmSync(file, { force: true })
    await Promise.all((round % 2 ? links : links.toReversed()).map((link) => head.note(db, link)))
    if ((await head.last())?.id !== 2) t.fail(`the earlier link stays in round ${round}`)
  }
  t.strictSame(await head.last(), links[1])
})

t.test('a note that fails leaves no file behind, and the next one takes away what a kill has left', async (t) => {
  const { db } = await testDatabase(t)
  const folder = temporaryFolder(t)
  const file = join(folder, 'prova.head')
  const head = chainHead(file, audit_log, createKeys(randomBytes(32)))
  const link = { id: 1, hash: 'ab' }
  mkdirSync(file)
  await t.rejects(head.note(db, link), { message: 'prova.head cannot be written' })
  t.same(readdirSync(folder), ['prova.head'])
  rmSync(file, { recursive: true })
  await head.note(db, link)
  t.same(readdirSync(folder), ['prova.head'], 'the next note is written')

  const [left, begun] = [`prova.head.${randomUUID()}`, `prova.head.${randomUUID()}`]
  const others = ['prova.head.copia', `altro.head.${randomUUID()}`]
  for (const name of [left, begun, ...others]) writeFileSync(join(folder, name), '')
  const hourAgo = new Date(Date.now() - 3_600_000)
  for (const name of [left, ...others]) utimesSync(join(folder, name), hourAgo, hourAgo)
  // The log is empty: nothing is noted.
  await head.update(db)
  t.same(readdirSync(folder).sort(), [begun, ...others].sort(), 'what another process writes stays')
})

/** Text in which the marks of JSON, and their like, are frequent. */
const part = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...'",[]{}:0n\\\u2028', '\ud800'),
    fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 })
  ),
  maxLength: 6
})

const anyValue = fc.oneof(
  part,
  fc.integer({ min: -9, max: 9 }),
  fc.boolean(),
  fc.constant(null),
  fc.array(part, { maxLength: 3 })
)

const anyRow: fc.Arbitrary<AuditRow> = fc.record({
  id: fc.integer({ min: 1, max: 3 }),
  at: fc.date({ min: new Date('2026-01-01'), max: new Date('2027-01-01'), noInvalidDate: true }),
  actor: part,
  action: part,
  object: fc.option(part),
  ip: fc.option(part),
  details: fc.dictionary(part, anyValue, { maxKeys: 3 })
})

/** The library makes objects without a prototype, too. */
const plain = (row: AuditRow) => ({ ...row, details: { ...row.details as object } })

const same = (one: AuditRow, other: AuditRow) => isDeepStrictEqual(plain(one), plain(other))

/** A row with one of its parts taken from another, so that rows are often nearly the same. */
const pair = fc
  .tuple(anyRow, anyRow, fc.subarray(['id', 'at', 'actor', 'action', 'object', 'ip', 'details'] as const))
  .map(([one, other, parts]): [AuditRow, AuditRow] => [
    one,
    { ...one, ...Object.fromEntries(parts.map((part) => [part, other[part]])) }
  ])

t.test('different entries are spelled differently, equal ones the same', async (t) => {
  fc.assert(
    fc.property(pair, ([one, other]) => (canonical(one) === canonical(other)) === same(one, other)),
    { numRuns: 2000 }
  )
  t.pass()
})

t.test('the order in which the database gives the details back does not matter', async (t) => {
  const base = { id: 1, at: new Date(0), actor: 'a', action: 'b', object: null, ip: null }
  fc.assert(fc.property(fc.dictionary(part, anyValue), (details) => {
    const reversed = Object.fromEntries(Object.entries(details).reverse())
    return canonical({ ...base, details }) === canonical({ ...base, details: reversed })
  }))
  t.pass()
})

t.test('the hash hangs on the key, the row and the hash before', async (t) => {
  const row: AuditRow = { id: 1, at: new Date(0), actor: 'a', action: 'b', object: null, ip: null, details: {} }
  const [key, other] = [randomBytes(32), randomBytes(32)]
  const hashes = [
    linkHash(key, row, undefined), linkHash(other, row, undefined), linkHash(key, { ...row, id: 2 }, undefined),
    linkHash(key, row, randomBytes(32)), linkHash(key, row, randomBytes(32))
  ]
  t.equal(new Set(hashes.map(String)).size, hashes.length)
  t.ok(linkHash(key, { ...row }, undefined).equals(hashes[0]!))
})
