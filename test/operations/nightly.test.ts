import { mkdir, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import type { Event } from '#schemas/event.ts'
import type { JobAnswer } from '#schemas/job.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { addDays, createClock, type Day } from '#src/lib/time.ts'
import { HEADER_BYTES } from '#src/operations/backup/container.ts'
import { createBackup } from '#src/operations/backup/create.ts'
import { backupFile, daysToKeep, lastBackup, rotate } from '#src/operations/backup/rotation.ts'
import { verify } from '#src/operations/index.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { BOOKINGS, create, guests, list, saveGuests } from '#test/bookings/samples.ts'
import { connect } from '#src/plugins/database/connect.ts'
import { LOCKS } from '#src/plugins/database/locks.ts'
import { filesBackend } from '#src/plugins/storage/backends/files.ts'
import { testDatabase } from '#test/database.ts'
import { build, temporaryFolder } from '#test/helper.ts'
import { runJob } from '#test/run-job.ts'

const BACKUP_PASSPHRASE = 'otto barche sul lago'
const today = createClock().today()
/** As long as the shortest of backups. */
const WHOLE = Buffer.alloc(HEADER_BYTES)

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
  const todays = `salvataggio:${createClock().today()}`
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
  await build(t, { ...environ, DATABASE_URL: url }, undefined, { jobsByClock: true })
  await until(async () => (await job())!.outcome === 'riuscito')
  t.same(await readdir(BACKUP_DIR), [`locanda-${createClock().today()}.bak`])
})

t.test('a backup is read once its transaction has ended, and has no name before', async (t) => {
  const folder = temporaryFolder(t)
  const { url, sql } = await testDatabase(t)
  const own = connect(url, 1)
  t.teardown(own.close)
  const source = { sql: own.sql, backend: filesBackend(folder), keys: createKeys(Buffer.alloc(32)) }
  const path = join(folder, 'a.bak')
  const seen: unknown[] = []
  const check = async () => {
    seen.push(await readdir(folder), await sql`
      select from pg_stat_activity where datname = current_database() and backend_xmin is not null
        and pid <> pg_backend_pid() and backend_type = 'client backend'`)
  }
  await createBackup(source, path, BACKUP_PASSPHRASE, { check })
  t.same(seen, [['a.bak.partial'], []])
  await t.rejects(createBackup(source, join(folder, 'b.bak'), BACKUP_PASSPHRASE, {
    check: () => Promise.reject(new Error('illegible'))
  }), { message: 'illegible' })
  t.same(await readdir(folder), ['a.bak'])
})

t.test('without a folder for backups there is no such job', async (t) => {
  const { app, token } = await build(t)
  const authorization = `Bearer ${await token({ name: 'capo', role: 'admin' })}`
  t.notMatch((await app.inject({ url: '/api/v1/jobs', headers: { authorization } })).body, /backup/)
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

t.test('the age is that of the last backup', async (t) => {
  const folder = temporaryFolder(t)
  for (const [day, age] of [['2026-01-01', 500], ['2026-01-02', 90]] as const) {
    const path = join(folder, `locanda-${day}.bak`)
    await writeFile(path, WHOLE)
    await utimes(path, 1000 - age, 1000 - age)
  }
  t.equal((await lastBackup(folder, 1_000_000)).age, 90_000)
  const later = join(folder, 'locanda-2026-01-03.bak')
  await writeFile(later, WHOLE)
  await utimes(later, 9_000_000, 9_000_000)
  t.equal((await lastBackup(folder, 1_000_000)).age, 90_000, 'one that is still to come says nothing')
  const [empty, place] = [join(folder, 'locanda-2026-01-04.bak'), join(folder, 'locanda-2026-01-05.bak')]
  await writeFile(empty, '')
  await mkdir(place)
  for (const path of [empty, place]) await utimes(path, 999, 999)
  t.equal((await lastBackup(folder, 1_000_000)).age, 90_000, 'nor does what has the name alone')
  await t.rejects(lastBackup(join(folder, 'manca'), 1_000_000), { code: 'ENOENT' }, 'one that cannot be read is told')
})

t.test('an old backup that cannot be removed is told, and the others go', async (t) => {
  const folder = temporaryFolder(t)
  const days = Array.from({ length: 60 }, (_, n) => addDays('2026-11-22', -n))
  const stuck = backupFile(folder, days.at(-20)!)
  for (const day of days) {
    if (backupFile(folder, day) === stuck) await mkdir(stuck)
    else await writeFile(backupFile(folder, day), '')
  }
  t.same(await rotate(folder, '2026-11-22'), [stuck])
  t.equal((await readdir(folder)).length, daysToKeep(days).length + 1)
})
