import { spawnSync } from 'node:child_process'
import { createCipheriv } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import t from 'tap'
import type { Event } from '#schemas/event.ts'
import type { JobResponse } from '#schemas/job.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import { createBackup } from '#src/backup/create.ts'
import { backupPath, daysToKeep, lastBackup, rotate } from '#src/backup/backup-retention.ts'
import { writePartial, writeThroughPartial } from '#src/backup/create.ts'
import { ownTables, readTables } from '#src/backup/saved-tables.ts'
import { readBackup, seal, type Entry, type Manifest, type Pace } from '#src/backup/sealed-tar.ts'
import { OperationError } from '#src/backup/errors.ts'
import { verify } from '#src/backup/index.ts'
import { connect } from '#src/database/connect.ts'
import { lastMigration } from '#src/database/journal.ts'
import { applyMigrations, knownMigrations } from '#src/database/migrate.ts'
import { LOCKS } from '#src/database/locks.ts'
import { folderBackend } from '#src/services/files/backends/folder-backend.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { BOOKINGS, create, guests, list, saveGuests } from '#test/bookings/samples.ts'
import { testClock } from '#test/clock.ts'
import { testDatabase } from '#test/database.ts'
import { build, temporaryFolder } from '#test/helper.ts'
import { runJob } from '#test/run-job.ts'

const PASSPHRASE = 'càlamo lontano vèneto'
const ID = '00000000-0000-4000-8000-000000000000'

/** Noise that is the same in each run. */
const noise = createCipheriv('aes-256-ctr', Buffer.alloc(32), Buffer.alloc(16)).update(Buffer.alloc(600_000))

const manifest: Manifest = {
  created: '2026-01-01T00:00:00.000Z', masterKey: 'a', migration: 1, version: '1.0.0', columns: { letti: ['id'] }
}

/** An entry whose content arrives in chunks of this size. */
function entry (name: string, content: Buffer, piece = 100_000): Entry {
  const pieces = Array.from({ length: Math.ceil(content.length / piece) }, (_, at) =>
    content.subarray(at * piece, (at + 1) * piece))
  return { name, size: content.length, content: pieces }
}

/** A backup of one table and one file. */
function * entries (rows: Buffer, file: Buffer, piece?: number): Generator<Entry> {
  const tables = { letti: rows.filter((byte) => byte === 10).length }
  const summary = { tables, files: 1, bytes: file.length, missing: [], foreign: [], sequences: {} }
  yield entry('manifest.json', Buffer.from(JSON.stringify(manifest)), piece)
  yield entry('tables/letti.copy', rows, piece)
  yield entry(`files/${ID}`, file, piece)
  yield entry('summary.json', Buffer.from(JSON.stringify(summary)), piece)
}

const sealed = (content: Iterable<Entry>) => buffer(seal(Readable.from(content), PASSPHRASE))
const whole = await sealed(entries(Buffer.from('1\n2\n'), noise))

/** The reason why a file with these bytes is refused as a backup. */
async function refusal (file: string, bytes: Buffer, passphrase = PASSPHRASE): Promise<string | undefined> {
  await writeFile(file, bytes)
  return await readBackup(file, passphrase).then(() => undefined, (err: unknown) =>
    err instanceof OperationError ? err.message : String(err))
}

t.test('rows and files are read back unchanged, with chunks of any size', async (t) => {
  const file = join(temporaryFolder(t), 'a.tar.age')
  const line = fc.stringMatching(/^[a-z]{0,40}$/).map((text) => `${text}\n`)
  await fc.assert(fc.asyncProperty(
    fc.array(line), fc.integer({ min: 0, max: 400_000 }), fc.integer({ min: 1, max: 200_000 }),
    async (lines, size, piece) => {
      const rows = Buffer.from(lines.join(''))
      await writeFile(file, await sealed(entries(rows, noise.subarray(0, size), Math.max(piece, size >> 8))))
      const back: Buffer[] = []
      const keep = async (_name: string, content: AsyncIterable<Buffer>) => { back.push(await buffer(content)) }
      const { summary } = await readBackup(file, PASSPHRASE, {
        reader: { manifest: async () => {}, table: keep, file: keep }
      })
      return summary.tables.letti === lines.length && back[0]!.equals(rows) && back[1]!.equals(noise.subarray(0, size))
    }
  ), { numRuns: 4 })
})

t.test('a file that is truncated, has trailing bytes or a flipped bit is refused', async (t) => {
  const file = join(temporaryFolder(t), 'a.tar.age')
  t.equal(await refusal(file, whole), undefined)
  const chunk = 64 * 1024 + 16
  for (const length of [0, 10, 22, 60, 200, 300_000, chunk * 5, whole.length - 1]) {
    t.match(await refusal(file, whole.subarray(0, length)), /danneggiat|non è un salvataggio/, `cut at ${length}`)
  }
  t.match(await refusal(file, Buffer.concat([whole, Buffer.alloc(17)])), /danneggiato/)
  for (const at of [0, 30, 120, 160, 1000, 300_000, whole.length - 1]) {
    const flipped = whole.with(at, whole[at]! ^ 4)
    t.match(await refusal(file, Buffer.from(flipped)), /danneggiat|non è un salvataggio/, `flipped at ${at}`)
  }
})

t.test('a wrong passphrase is refused, and the right one works in every Unicode form', async (t) => {
  const file = join(temporaryFolder(t), 'a.tar.age')
  t.match(await refusal(file, whole, `${PASSPHRASE} `), /passphrase/)
  t.equal(await refusal(file, whole, PASSPHRASE.normalize('NFD')), undefined)
  t.match(await refusal(file, Buffer.from('LOCANDA BACKUP 1, come prima')), /non è un salvataggio/)
  await t.rejects(readBackup(join(file, 'b'), PASSPHRASE), /non si può leggere \(ENOTDIR\)/)
})

t.test('a backup that lacks an entry or a row is refused', async (t) => {
  const file = join(temporaryFolder(t), 'a.tar.age')
  const all = [...entries(Buffer.from('1\n2\n'), noise)]
  for (const content of [all.slice(1), all.slice(0, -1), all.toSpliced(1, 1), all.toSpliced(2, 1)]) {
    t.match(await refusal(file, await sealed(content)), /danneggiato o incompleto/)
  }
  t.match(await refusal(file, await sealed(all.with(1, entry('tables/letti.copy', Buffer.from('1\n'))))), /incompleto/)
})

const saved = (...pieces: Buffer[]) => Readable.from(pieces) as AsyncIterable<Buffer>
const write = (file: string, content: AsyncIterable<Buffer>, isOwnName = false) =>
  writeThroughPartial(file, isOwnName, (partial) => writePartial(partial, content))

t.test('a file gets its name only when it is complete, and only its owner can read it', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'a.tar.age')
  await writeFile(`${file}.partial`, 'the partial file of a killed process')
  async function * broken () {
    yield noise
    // An error as after a lost connection, not an error of the file.
    throw Object.assign(new Error('away'), { syscall: 'read', code: 'ECONNRESET' })
  }
  await t.rejects(write(file, broken()), { message: 'away' })
  t.same(await readdir(folder), [], 'a failed backup leaves no partial file')
  t.equal(await write(file, saved(whole)), whole.length)
  await t.rejects(writeThroughPartial(file, false, async (partial) => {
    await writePartial(partial, saved(noise))
    t.same((await readdir(folder)).toSorted(), ['a.tar.age', 'a.tar.age.partial'])
    throw new OperationError('no')
  }), { message: 'no' }, 'a backup replaces another one only after its verification')
  t.same(await readdir(folder), ['a.tar.age'])
  t.equal((await stat(file)).mode & 0o777, 0o600)
  t.ok((await readFile(file)).equals(whole))
  await t.rejects(write(join(folder, 'c', 'a.tar.age'), saved()), /non si può scrivere/)
})

t.test('a backup overwrites another backup, but no other file', async (t) => {
  const folder = temporaryFolder(t)
  const path = (name: string) => join(folder, name)
  const old = 'age-encryption.org/v1\n di prima'
  writeFileSync(path('vero'), old)
  writeFileSync(path('vuoto'), '')
  writeFileSync(path('chiave'), 'age-')
  symlinkSync(path('vero'), path('legame'))
  mkdirSync(path('cartella'))
  spawnSync('mkfifo', [path('tubo')])
  for (const name of ['legame', 'cartella', 'tubo', 'chiave']) {
    await t.rejects(write(path(name), saved(noise)), { message: /c’è già, e non è un salvataggio/ })
  }
  t.equal(readFileSync(path('chiave'), 'utf8'), 'age-')
  t.equal(readFileSync(path('vero'), 'utf8'), old)
  for (const name of ['vero', 'vuoto']) await write(path(name), saved(whole))
  await write(path('chiave'), saved(whole), true)
  for (const name of ['vero', 'vuoto', 'chiave']) t.ok(readFileSync(path(name)).equals(whole), name)
  t.same(readdirSync(folder), ['cartella', 'chiave', 'legame', 'tubo', 'vero', 'vuoto'], 'no other file is left')
})

t.test('a backup contains all tables and columns of every migration, even of a newer version', async (t) => {
  const { sql } = await testDatabase(t, true)
  for (const migration of knownMigrations()) {
    await sql.begin((tx) => applyMigrations(tx, [migration]))
    const tables = await readTables(sql)
    t.ok(tables.length > 50)
    t.same(ownTables(tables, migration.folderMillis), { own: tables, foreign: [] })
  }
  const added = [{ name: 'aggiunta', columns: ['id'] }]
  t.same(ownTables(added, (await lastMigration(sql))!), { own: [], foreign: ['aggiunta'] })
  t.same(ownTables(added, 9e12), { own: added, foreign: [] })
})

const BACKUP_PASSPHRASE = 'otto barche sul lago'
const today = testClock().today()

const WHOLE = Buffer.from('age')

t.test('the nightly job makes the backup of the day, removes old ones, and updates the metrics', async (t) => {
  const BACKUP_DIR = temporaryFolder(t)
  const { app, token, logs } = await build(t, { BACKUP_DIR, BACKUP_PASSPHRASE })
  const authorization = `Bearer ${await token({ name: 'capo', role: 'admin' })}`
  const call = (method: 'GET' | 'POST', url: string) => app.inject({ method, url, headers: { authorization } })
  const work = async (name: string) => {
    t.ok((await call('POST', `/api/v1/jobs/${name}/avvia`)).statusCode < 300)
    const job = async () => (await call('GET', '/api/v1/jobs')).json<{ data: JobResponse['data'][] }>().data
      .find(({ nome }) => nome === name)!
    await until(async () => !(await job()).in_corso && (await job()).esito !== null)
    t.match(await job(), { esito: 'riuscito' })
  }
  const age = async () => /^locanda_backup_age_seconds (.*)$/m.exec((await call('GET', '/metrics')).body)?.[1]
  const warnings = () => logs.filter(({ msg }) => msg === 'no backup was made in the last two days').length

  t.equal(await age(), '+Inf')
  await work('backup-age')
  t.equal(warnings(), 1)

  const old = Array.from({ length: 60 }, (_, n) => `locanda-${addDays(today, -n - 1)}.tar.age`)
  for (const name of [...old, 'altro.txt', 'locanda-vecchio.tar.age']) await writeFile(join(BACKUP_DIR, name), '')
  await work('backup')
  const names = await readdir(BACKUP_DIR)
  t.match(names.toSorted().join(' '), /altro\.txt.*locanda-vecchio\.tar.age/, 'other files stay')
  t.ok(names.length >= 2 + 7 && names.length <= 2 + 7 + 4, String(names.length))
  const own = join(BACKUP_DIR, `locanda-${today}.tar.age`)
  t.match((await verify(own, BACKUP_PASSPHRASE)).summary, { files: 0, missing: [] })
  t.ok(Number(await age()) < 600)
  await work('backup-age')
  t.equal(warnings(), 1, 'no further warning is logged')

  // This makes the job fail.
  await rm(BACKUP_DIR, { recursive: true })
  t.equal(await age(), '+Inf')
  t.ok((await call('POST', '/api/v1/jobs/backup/avvia')).statusCode < 300)
  const events = async () => (await call('GET', '/api/v1/eventi')).json<{ data: Event[] }>().data
    .map(({ tipo, oggetto }) => [tipo, oggetto])
  await until(async () => (await events()).length === 2)
  const todays = `salvataggio:${testClock().today()}`
  t.same(await events(), [['salvataggio.riuscito', todays], ['salvataggio.fallito', todays]])
})

t.test('a damaged backup of the day is replaced only when the new one is complete', async (t) => {
  const BACKUP_DIR = temporaryFolder(t)
  const server = await build(t, { BACKUP_DIR, BACKUP_PASSPHRASE })
  const file = backupPath(BACKUP_DIR, today)
  t.match(await runJob(server, 'backup'), { esito: 'riuscito' })
  const whole = await readFile(file)
  const flipped = (at: number) => whole.with(at, whole[at]! ^ 1)
  for (const [damage, damaged] of [
    ['cut at its end', whole.subarray(0, -1)], ['changed in its first byte', flipped(0)]
  ] as const) {
    await writeFile(file, damaged)
    await t.rejects(verify(file, BACKUP_PASSPHRASE), damage)
    t.match(await runJob(server, 'backup'), { esito: 'riuscito' }, damage)
    t.same(await readdir(BACKUP_DIR), [basename(file)], damage)
    await t.resolves(verify(file, BACKUP_PASSPHRASE), damage)
  }
  await writeFile(file, flipped(0))
  // The database seems empty, so the backup fails after its file was created.
  await server.app.sql`delete from drizzle.__drizzle_migrations`
  t.match(await runJob(server, 'backup'), { esito: 'fallito' })
  t.ok((await readFile(file)).equals(flipped(0)))
})

t.test('requests are answered while the job writes, and the backup is a snapshot of its start', async (t) => {
  const BACKUP_DIR = temporaryFolder(t)
  const { app, call, url } = await build(t, { BACKUP_DIR, BACKUP_PASSPHRASE })
  const { id } = await create(call, { numero_ospiti: 2 })
  await saveGuests(call, id, guests(2))
  const other = connect(url, 1)
  t.teardown(other.close)
  // The job waits for this lock in the middle of its tables, before bookings and guests.
  await other.sql.begin(async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`
    await tx`lock table lettere_benvenuto in access exclusive mode`
    await app.jobs.start('backup', async () => {})
    await until(async () => (await app.sql`select from pg_locks where not granted and locktype = 'relation'
      and relation = 'lettere_benvenuto'::regclass`).length > 0)
    t.same(await readdir(BACKUP_DIR), [`locanda-${today}.tar.age.partial`], 'it is not renamed yet')
    const later = await create(call)
    t.equal((await call('PUT', `${BOOKINGS}/${later.id}`, { telefono: '1' })).statusCode, 200)
    await saveGuests(call, id, guests(1))
    t.same((await list(call)).map((each) => each.id).toSorted(), [id, later.id].toSorted())
    t.match((await call('GET', '/api/v1/eventi')).json<{ data: Event[] }>().data.at(-1), { tipo: 'ospiti.modificati' })
  })
  await until(async () => (await app.sql`select outcome from jobs where name = 'backup'`)[0]!.outcome === 'riuscito')
  const { summary } = await verify(join(BACKUP_DIR, `locanda-${today}.tar.age`), BACKUP_PASSPHRASE)
  t.match(summary, { tables: { prenotazioni: 1, ospiti: 2 }, missing: [] })
  t.same(await app.sql`select count(*)::int as bookings from prenotazioni`, [{ bookings: 2 }])
})

t.test('a backup interrupted by a restart is repeated by the next server', async (t) => {
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
  t.same(await sql`select tipo from eventi where tipo like 'salvataggio%'`, [], 'no run has failed')
  await other.sql`select pg_advisory_unlock_all()`
  await build(t, { ...environ, DATABASE_URL: url }, undefined, { clock: undefined })
  await until(async () => (await job())!.outcome === 'riuscito')
  const backups = (await readdir(BACKUP_DIR)).filter((name) => !name.endsWith('.json'))
  t.same(backups, [`locanda-${testClock().today()}.tar.age`])
})

t.test('a nightly backup is verified after its transaction, and then renamed', async (t) => {
  const folder = temporaryFolder(t)
  const { url, sql } = await testDatabase(t)
  const own = connect(url, 1)
  t.teardown(own.close)
  const source = { sql: own.sql, backend: folderBackend(folder), keys: createKeys(Buffer.alloc(32)) }
  const path = join(folder, 'a.tar.age')
  const seen: unknown[] = []
  // The first call throttles the writing, and the second one the verification.
  let times = 0
  const pace: Pace = async function * (pieces) {
    if (++times === 2) {
      seen.push(await readdir(folder), await sql`
        select from pg_stat_activity where datname = current_database() and backend_xmin is not null
          and pid <> pg_backend_pid() and backend_type = 'client backend'`)
    }
    if (times === 4) throw new Error('illegible')
    yield * pieces
  }
  await createBackup(source, path, BACKUP_PASSPHRASE, { pace, isNightly: true })
  t.same(seen, [['a.tar.age.partial'], []])
  await t.rejects(createBackup(source, join(folder, 'b.tar.age'), BACKUP_PASSPHRASE, { pace, isNightly: true }), {
    message: 'illegible'
  })
  t.same(await readdir(folder), ['a.tar.age'])
})

t.test('without BACKUP_DIR there is no backup job', async (t) => {
  const { app, token } = await build(t)
  const authorization = `Bearer ${await token({ name: 'capo', role: 'admin' })}`
  t.notMatch((await app.inject({ url: '/api/v1/jobs', headers: { authorization } })).body, /backup/)
})

t.test('at most seven daily and four weekly backups are kept, and always the last one', async (t) => {
  const anyDay = fc.integer({ min: 0, max: 400 }).map((n): Day => addDays('2026-01-01', n))
  fc.assert(fc.property(fc.uniqueArray(anyDay, { maxLength: 60 }), (days) => {
    const kept = daysToKeep(days)
    const latest = days.toSorted().reverse()
    return new Set(kept).size === kept.length && kept.length <= 11 && kept.every((day) => days.includes(day)) &&
      latest.slice(0, 7).every((day) => kept.includes(day))
  }), { numRuns: 200 })
  const nightly = Array.from({ length: 60 }, (_, n) => addDays('2026-11-22', -n))
  t.same(daysToKeep(nightly).toSorted().reverse(), [
    // A Sunday and the six days before it, then the Sundays of three more weeks.
    '2026-11-22', '2026-11-21', '2026-11-20', '2026-11-19', '2026-11-18', '2026-11-17', '2026-11-16',
    '2026-11-15', '2026-11-08', '2026-11-01'
  ])
})

t.test('a wrong clock deletes no backup, and partial files of killed processes are removed', async (t) => {
  const folder = temporaryFolder(t)
  const future = Array.from({ length: 9 }, (_, n) => `locanda-${addDays('2027-05-01', n)}.tar.age`)
  const partials = ['2026-11-20', '2026-11-21', '2026-11-22'].map((day) => `locanda-${day}.tar.age.partial`)
  const made = ['locanda-2026-11-21.tar.age', 'locanda-2026-11-22.tar.age']
  for (const name of [...future, ...partials, ...made]) await writeFile(join(folder, name), '')
  await rotate(folder, '2026-11-22')
  t.same((await readdir(folder)).toSorted(), [...made, ...partials.slice(1), ...future].toSorted())
})

t.test('lastBackup returns the age of the last complete backup', async (t) => {
  const folder = temporaryFolder(t)
  for (const [day, age] of [['2026-01-01', 500], ['2026-01-02', 90]] as const) {
    const path = join(folder, `locanda-${day}.tar.age`)
    await writeFile(path, WHOLE)
    await utimes(path, 1000 - age, 1000 - age)
  }
  t.equal((await lastBackup(folder, 1_000_000)).age, 90_000)
  const later = join(folder, 'locanda-2026-01-03.tar.age')
  await writeFile(later, WHOLE)
  await utimes(later, 9_000_000, 9_000_000)
  t.equal((await lastBackup(folder, 1_000_000)).age, 90_000, 'a backup dated in the future does not count')
  const [empty, directory] = [join(folder, 'locanda-2026-01-04.tar.age'), join(folder, 'locanda-2026-01-05.tar.age')]
  await writeFile(empty, '')
  await mkdir(directory)
  for (const path of [empty, directory]) await utimes(path, 999, 999)
  t.equal((await lastBackup(folder, 1_000_000)).age, 90_000, 'a folder or an empty file with the name does not count')
  await t.rejects(lastBackup(join(folder, 'manca'), 1_000_000), { code: 'ENOENT' }, 'an unreadable backup is reported')
})
