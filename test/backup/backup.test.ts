import { createCipheriv } from 'node:crypto'
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import t from 'tap'
import type { Event } from '#schemas/event.ts'
import type { JobAnswer } from '#schemas/job.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import {
  HEADER_BYTES, newHeader, opened, openHeader, readContainer, sealed, writeContainer
} from '#src/backup/container.ts'
import { backupFile, daysToKeep, rotate } from '#src/backup/rotation.ts'
import { onlyKnown, readTables } from '#src/backup/tables.ts'
import { OperationError } from '#src/backup/errors.ts'
import { verify } from '#src/backup/index.ts'
import { connect } from '#src/database/connect.ts'
import { schemaAfter } from '#src/database/known-schema.ts'
import { lastMigration } from '#src/database/last-migration.ts'
import { LOCKS } from '#src/database/locks.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { BOOKINGS, create, guests, list, saveGuests } from '#test/bookings/samples.ts'
import { testClock } from '#test/clock.ts'
import { testDatabase } from '#test/database.ts'
import { build, temporaryFolder } from '#test/helper.ts'
import { runJob } from '#test/run-job.ts'

const refused = (work: Promise<unknown>) => work.then(() => false, (err: unknown) => err instanceof OperationError)
const PASSPHRASE = 'càlamo lontano vèneto'
const header = await newHeader(PASSPHRASE)
const { key } = header
const open_ = (bytes: Buffer) => buffer(Readable.from(opened(Readable.from([bytes]), bytes.length, key)))
const seal = (content: readonly Buffer[]) => buffer(Readable.from(sealed(Readable.from(content), key)))

/** The same every time, and not to be compressed. */
const noise = createCipheriv('aes-256-ctr', Buffer.alloc(32), Buffer.alloc(16)).update(Buffer.alloc(180_000))

const whole = await seal([noise])

t.test('a content comes back as it was sealed, whatever its pieces', async () => {
  await fc.assert(fc.asyncProperty(
    fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 12 }), fc.integer({ min: 0, max: 300_000 }),
    async (small, large) => {
      const content = [...small.map((each) => Buffer.from(each)), Buffer.alloc(large, 'abc')]
      const back = await open_(await seal(content))
      return back.equals(Buffer.concat(content))
    }
  ), { numRuns: 20 })
})

t.test('a file that was cut anywhere, or has more at its end, is refused', async (t) => {
  t.ok(whole.length > 64 * 1024, 'more than one chunk')
  await fc.assert(fc.asyncProperty(fc.integer({ min: 0, max: whole.length - 1 }), async (length) => {
    return await refused(open_(whole.subarray(0, length)))
  }), { numRuns: 25, examples: [[0], [15], [16], [17], [64 * 1024 + 16], [whole.length - 1]] })
  for (const more of [1, 16, 17, 64 * 1024 + 16]) {
    t.ok(await refused(open_(Buffer.concat([whole, Buffer.alloc(more)]))))
  }
})

t.test('a flipped bit anywhere is refused', async () => {
  await fc.assert(fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 7 }), async (at, bit) => {
    const flipped = Buffer.from(whole)
    flipped[at]! ^= 1 << bit
    return await refused(open_(flipped))
  }), { numRuns: 25, examples: [[0, 0], [whole.length - 1, 7]] })
})

t.test('a chunk that was moved, doubled or left out is refused', async (t) => {
  const size = 64 * 1024 + 16
  const [first, second] = [whole.subarray(0, size), whole.subarray(size, 2 * size)]
  const rest = whole.subarray(2 * size)
  for (const parts of [[second, first, rest], [first, first, rest], [first, rest], [first, second, second, rest]]) {
    t.ok(await refused(open_(Buffer.concat(parts))))
  }
})

t.test('another passphrase, and a flipped bit of the header, open nothing', async (t) => {
  await t.resolveMatch(openHeader(header.bytes, PASSPHRASE.normalize('NFD')), key, 'however a keyboard spells it')
  await t.rejects(openHeader(header.bytes, `${PASSPHRASE} `), /passphrase/)
  for (const at of [0, 15, 16, 47, 48, HEADER_BYTES - 1]) {
    const bytes = Buffer.from(header.bytes)
    bytes[at]! ^= 1
    t.ok(await refused(openHeader(bytes, PASSPHRASE)), String(at))
  }
  await t.rejects(openHeader(header.bytes.subarray(0, 30), PASSPHRASE), /non è un salvataggio/)
})

t.test('a file is there when all of it is on the disk, and its owner alone reads it', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'a.bak')
  await writeFile(`${file}.partial`, 'what a killed process has left')
  async function * broken () {
    yield noise
    // As a connection that is lost says it: nothing of the file.
    throw Object.assign(new Error('away'), { syscall: 'read', code: 'ECONNRESET' })
  }
  async function * refusing () {
    yield noise
    throw new OperationError('no')
  }
  await t.rejects(writeContainer(file, PASSPHRASE, broken()), { message: 'away' })
  await t.rejects(writeContainer(file, PASSPHRASE, refusing()), { message: 'no' })
  t.same(await readdir(folder), [], 'nothing stays of one that broke off')
  await (await writeContainer(file, PASSPHRASE, Readable.from([noise]))).settle()
  const unreadable = await writeContainer(file, PASSPHRASE, Readable.from([]))
  const refuse = () => Promise.reject(new OperationError('no'))
  const unlooked = unreadable.settle(refuse)
  await t.rejects(unlooked, { message: 'no' }, 'nor does one come into the place of another before it was looked at')
  t.same(await readdir(folder), ['a.bak'])
  t.equal((await stat(file)).mode & 0o777, 0o600)
  const back = await readContainer(file, PASSPHRASE, (content) => buffer(content))
  t.ok(back.equals(noise))
  t.notMatch(await readFile(file), noise.subarray(0, 64), 'nothing is in the clear')
  await t.rejects(readContainer(join(folder, 'b.bak'), PASSPHRASE, buffer), /non si può leggere \(ENOENT\)/)
  await t.rejects(writeContainer(join(folder, 'c', 'a.bak'), PASSPHRASE, Readable.from([])), /non si può scrivere/)

  const other = join(folder, 'chiave.bak')
  await writeFile(other, 'another file')
  await symlink(file, join(folder, 'legame.bak'))
  await mkdir(join(folder, 'cartella.bak'))
  for (const [name, message] of [
    ['chiave.bak', /non è un salvataggio/], ['legame.bak', /è un collegamento/], ['cartella.bak', /non è un file/]
  ] as const) {
    await t.rejects(writeContainer(join(folder, name), PASSPHRASE, Readable.from([noise])), message, name)
  }
  t.equal(await readFile(other, 'utf8'), 'another file', 'it takes the place of a backup, and of nothing else')
  await (await writeContainer(file, PASSPHRASE, Readable.from([noise]))).settle()
})

t.test('the program knows all of its own tables and columns', async (t) => {
  const { sql } = await testDatabase(t)
  const tables = await readTables(sql)
  t.ok(tables.length > 50)
  t.same(onlyKnown(tables, schemaAfter((await lastMigration(sql))!)!), { own: tables, foreign: [] })
  t.equal(schemaAfter(1), undefined)
})

const BACKUP_PASSPHRASE = 'otto barche sul lago'
const today = testClock().today()

t.test('the nightly job makes a backup of the day, removes old ones, and shows in the metrics', async (t) => {
  const BACKUP_DIR = temporaryFolder(t)
  const { app, token, logs } = await build(t, { BACKUP_DIR, BACKUP_PASSPHRASE })
  const authorization = `Bearer ${await token({ name: 'capo', role: 'admin' })}`
  const call = (method: 'GET' | 'POST', url: string) => app.inject({ method, url, headers: { authorization } })
  const work = async (name: string) => {
    t.ok((await call('POST', `/api/v1/jobs/${name}/avvia`)).statusCode < 300)
    const job = async () => (await call('GET', '/api/v1/jobs')).json<{ data: JobAnswer['data'][] }>().data
      .find(({ nome }) => nome === name)!
    await until(async () => !(await job()).in_corso && (await job()).esito !== null)
    t.match(await job(), { esito: 'riuscito' })
  }
  const age = async () => /^locanda_backup_age_seconds (.*)$/m.exec((await call('GET', '/metrics')).body)?.[1]
  const warnings = () => logs.filter(({ msg }) => msg === 'the last backup is older than two days').length

  t.equal(await age(), '+Inf')
  await work('backup-age')
  t.equal(warnings(), 1)

  const old = Array.from({ length: 60 }, (_, n) => `locanda-${addDays(today, -n - 1)}.bak`)
  for (const name of [...old, 'altro.txt', 'locanda-vecchio.bak']) await writeFile(join(BACKUP_DIR, name), '')
  await work('backup')
  const names = await readdir(BACKUP_DIR)
  t.match(names.toSorted().join(' '), /altro\.txt.*locanda-vecchio\.bak/, 'other files stay')
  t.ok(names.length >= 2 + 7 && names.length <= 2 + 7 + 4, String(names.length))
  const own = join(BACKUP_DIR, `locanda-${today}.bak`)
  t.match((await verify(own, BACKUP_PASSPHRASE)).summary, { files: 0, missing: [] })
  t.ok(Number(await age()) < 600)
  await work('backup-age')
  t.equal(warnings(), 1, 'and no warning')

  // A folder that has gone is one of the ways in which it fails.
  await rm(BACKUP_DIR, { recursive: true })
  t.equal(await age(), '+Inf')
  t.ok((await call('POST', '/api/v1/jobs/backup/avvia')).statusCode < 300)
  const events = async () => (await call('GET', '/api/v1/eventi')).json<{ data: Event[] }>().data
    .map(({ tipo, oggetto }) => [tipo, oggetto])
  await until(async () => (await events()).length === 2)
  const todays = `salvataggio:${testClock().today()}`
  t.same(await events(), [['salvataggio.riuscito', todays], ['salvataggio.fallito', todays]])
})

t.test('a damaged backup of the day is replaced, and stays until the new one is whole', async (t) => {
  const BACKUP_DIR = temporaryFolder(t)
  const server = await build(t, { BACKUP_DIR, BACKUP_PASSPHRASE })
  const file = backupFile(BACKUP_DIR, today)
  t.match(await runJob(server, 'backup'), { esito: 'riuscito' })
  const whole = await readFile(file)
  const flipped = (at: number) => whole.with(at, whole[at]! ^ 1)
  for (const [what, damaged] of [
    ['cut at its end', whole.subarray(0, -1)], ['changed in its first byte', flipped(0)]
  ] as const) {
    await writeFile(file, damaged)
    await t.rejects(verify(file, BACKUP_PASSPHRASE), what)
    t.match(await runJob(server, 'backup'), { esito: 'riuscito' }, what)
    t.same(await readdir(BACKUP_DIR), [basename(file)], what)
    await t.resolves(verify(file, BACKUP_PASSPHRASE), what)
  }
  await writeFile(file, flipped(0))
  // A database that seems to be empty is one of the ways in which a backup fails once its file was begun.
  await server.app.sql`delete from drizzle.__drizzle_migrations`
  t.match(await runJob(server, 'backup'), { esito: 'fallito' })
  t.ok((await readFile(file)).equals(flipped(0)))
})

t.test('requests go on while the job writes; what it writes is readable, and of the instant it began', async (t) => {
  const BACKUP_DIR = temporaryFolder(t)
  const { app, call, url } = await build(t, { BACKUP_DIR, BACKUP_PASSPHRASE })
  const { id } = await create(call, { numero_ospiti: 2 })
  await saveGuests(call, id, guests(2))
  const other = connect(url, 1)
  t.teardown(other.close)
  // The job stands still in the middle of its tables, and comes to bookings and guests later.
  await other.sql.begin(async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`
    await tx`lock table lettere_benvenuto in access exclusive mode`
    await app.jobs.start('backup', async () => {})
    await until(async () => (await app.sql`select from pg_locks where not granted and locktype = 'relation'
      and relation = 'lettere_benvenuto'::regclass`).length > 0)
    t.same(await readdir(BACKUP_DIR), [`locanda-${today}.bak.partial`], 'it has no name yet')
    const later = await create(call)
    t.equal((await call('PUT', `${BOOKINGS}/${later.id}`, { telefono: '1' })).statusCode, 200)
    await saveGuests(call, id, guests(1))
    t.same((await list(call)).map((each) => each.id).toSorted(), [id, later.id].toSorted())
    t.match((await call('GET', '/api/v1/eventi')).json<{ data: Event[] }>().data.at(-1), { tipo: 'ospiti.modificati' })
  })
  await until(async () => (await app.sql`select outcome from jobs where name = 'backup'`)[0]!.outcome === 'riuscito')
  const { summary } = await verify(join(BACKUP_DIR, `locanda-${today}.bak`), BACKUP_PASSPHRASE)
  t.match(summary, { tables: { prenotazioni: 1, ospiti: 2 }, missing: [] })
  t.same(await app.sql`select count(*)::int as bookings from prenotazioni`, [{ bookings: 2 }])
})

t.test('a backup that a restart breaks off is made by the server that comes after', async (t) => {
  const BACKUP_DIR = temporaryFolder(t)
  const environ = { BACKUP_DIR, BACKUP_PASSPHRASE }
  const { url, sql } = await testDatabase(t)
  const { app } = await build(t, { ...environ, DATABASE_URL: url })
  await sql`update jobs set next_run_at = now() - interval '1 minute' where name = 'backup'`
  const other = connect(url, 1)
  t.teardown(other.close)
  await other.sql`select pg_advisory_lock(${LOCKS.backup})`
  await app.jobs.start('backup', async () => {})
  await until(async () => (await sql`select from pg_locks where not granted and locktype = 'advisory'`).length > 0)
  await app.close()
  const job = async () => (await sql`select outcome, next_run_at <= now() as due from jobs where name = 'backup'`)[0]
  t.same(await job(), { outcome: 'interrotto', due: true })
  t.same(await sql`select tipo from eventi where tipo like 'salvataggio%'`, [], 'nothing has failed')
  await other.sql`select pg_advisory_unlock_all()`
  await build(t, { ...environ, DATABASE_URL: url }, undefined, { clock: undefined })
  await until(async () => (await job())!.outcome === 'riuscito')
  t.same(await readdir(BACKUP_DIR), [`locanda-${testClock().today()}.bak`])
})

t.test('seven days and four weeks are kept, whatever there is, and the last one always', async (t) => {
  const anyDay = fc.integer({ min: 0, max: 400 }).map((n): Day => addDays('2026-01-01', n))
  fc.assert(fc.property(fc.uniqueArray(anyDay, { maxLength: 60 }), (days) => {
    const kept = daysToKeep(days)
    const latest = days.toSorted().reverse()
    return new Set(kept).size === kept.length && kept.length <= 11 && kept.every((day) => days.includes(day)) &&
      latest.slice(0, 7).every((day) => kept.includes(day))
  }), { numRuns: 200 })
  const nightly = Array.from({ length: 60 }, (_, n) => addDays('2026-11-22', -n))
  t.same(daysToKeep(nightly).toSorted().reverse(), [
    // A Sunday, and the days before it; then the Sundays of three weeks more.
    '2026-11-22', '2026-11-21', '2026-11-20', '2026-11-19', '2026-11-18', '2026-11-17', '2026-11-16',
    '2026-11-15', '2026-11-08', '2026-11-01'
  ])
})

t.test('a clock that was wrong costs no backup, and what killed processes have left goes', async (t) => {
  const folder = temporaryFolder(t)
  const future = Array.from({ length: 9 }, (_, n) => `locanda-${addDays('2027-05-01', n)}.bak`)
  const left = ['locanda-2026-11-20.bak.partial', 'locanda-2026-11-21.bak.partial', 'locanda-2026-11-22.bak.partial']
  const made = ['locanda-2026-11-21.bak', 'locanda-2026-11-22.bak']
  for (const name of [...future, ...left, ...made]) await writeFile(join(folder, name), '')
  t.same(await rotate(folder, '2026-11-22'), [])
  t.same((await readdir(folder)).toSorted(), [...made, ...left.slice(1), ...future].toSorted())
})
