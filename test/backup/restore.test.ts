import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { Decrypter } from 'age-encryption'
import pino from 'pino'
import t, { type Test } from 'tap'
import { readConfig } from '#src/config/config.ts'
import { firstAdministrator } from '#src/identity/index.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { addDays } from '#src/lib/time.ts'
import { createBackup, masterKeyMark } from '#src/backup/create.ts'
import { restoreBackup } from '#src/backup/restore.ts'
import { seal, type Entry, type Manifest, type Summary } from '#src/backup/sealed-tar.ts'
import { connect } from '#src/database/connect.ts'
import { lastMigration } from '#src/database/journal.ts'
import { LOCKS } from '#src/database/locks.ts'
import { applyMigrations, knownMigrations } from '#src/database/migrate.ts'
import type { Backend } from '#src/services/files/backends/backend.ts'
import { folderBackend } from '#src/services/files/backends/folder-backend.ts'
import { removalWorker } from '#src/services/files/removal-worker.ts'
import { plainResponse } from '#test/alloggiati/service/soap/calls.ts'
import { response } from '#test/alloggiati/service/soap/server.ts'
import { guestNo, invio, productionEnviron, standIn, until } from '#test/alloggiati/stand-in.ts'
import { create, guests, saveGuests } from '#test/bookings/samples.ts'
import { user } from '#test/cli/process.ts'
import { testClock } from '#test/clock.ts'
import { testDatabase } from '#test/database.ts'
import { uploading } from '#test/documents/uploading.ts'
import { build, temporaryFolder, type TestApp } from '#test/helper.ts'
import { jpeg } from '#test/services/images/pictures.ts'
import { COMPILE_CACHE } from '#test/setup/processes.ts'

const PROGRAM = fileURLToPath(new URL('../../src/cli/index.ts', import.meta.url))
const BACKUP_PASSPHRASE = 'otto barche sul lago'
const ADMIN = { ADMIN_EMAIL: 'anna@example.org', ADMIN_PASSWORD: 'Barca-a-vela-7' }
const twoDaysAgo = addDays(testClock().today(), -2)
const pdf = Buffer.from('%PDF-1.4 prova')

/** Reads the data that a person would check first. */
async function readState ({ app, call }: TestApp, booking: number, submission: number) {
  const body = async (url: string) => {
    const { statusCode, rawPayload } = await call('GET', url)
    return { url, statusCode, body: rawPayload.toString('base64') }
  }
  const signedIn = await app.inject({
    method: 'POST',
    url: '/auth/v1/token?grant_type=password',
    payload: { email: ADMIN.ADMIN_EMAIL, password: ADMIN.ADMIN_PASSWORD }
  })
  return {
    reads: await Promise.all([
      '/api/v1/prenotazioni', `/api/v1/prenotazioni/${booking}`, `/api/documents/${booking}/0/front`,
      `/api/v1/invii/${submission}`, '/api/v1/invii', `/api/alloggiati/ricevute?data=${twoDaysAgo}`
    ].map(body)),
    signedIn: signedIn.statusCode
  }
}

/** A server with data: a booking with guests and an image, a submission, a receipt and an administrator. */
async function worked (t: Test) {
  const police = await standIn(t)
  police.on.Ricevuta = response(plainResponse('Ricevuta')
    .replace('</RicevutaResponse>', `<PDF>${pdf.toString('base64')}</PDF></RicevutaResponse>`))
  const environ = productionEnviron(police)
  const server = await build(t, environ)
  await firstAdministrator(server.app, readConfig({ ...ADMIN, DATA_DIR: server.dataDir }))
  const { id } = await create(server.call, { numero_ospiti: 2 })
  await saveGuests(server.call, id, guests(2))
  await uploading(server).upload(id, { image: await jpeg() })
  await server.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
  const [{ id: submission }] = await server.app.sql<[{ id: number }]>`select id from invii`
  await server.call('GET', `/api/alloggiati/ricevute?data=${twoDaysAgo}`)
  return { police, environ, server, booking: id, submission }
}

const { police, environ, server, booking, submission } = await worked(t)
const folder = temporaryFolder(t)
const file = join(folder, 'locanda.tar.age')
const { act } = user(t)

/** The server's own environment. */
const own = {
  ...environ,
  DATABASE_URL: server.url,
  DATA_DIR: server.dataDir,
  MASTER_KEY: server.masterKey,
  BACKUP_PASSPHRASE,
  NODE_COMPILE_CACHE: COMPILE_CACHE
}

const empty = async (t: Test) => ({
  ...own, DATABASE_URL: (await testDatabase(t, true)).url, DATA_DIR: temporaryFolder(t)
})

const before = await readState(server, booking, submission)
await server.app.sql`insert into invii_sospensioni (motivo, chi) values ('ferie', 'anna')`
const made = await act(['--json', 'backup', file], { env: own })
await server.app.sql`update invii_sospensioni set tolta_da = 'anna', tolta_il = now()`

/** The numbers of tables and files. */
async function remains (env: { DATABASE_URL: string, DATA_DIR: string }) {
  const { sql, close } = connect(env.DATABASE_URL, 1)
  const tables = await sql`select from pg_tables where schemaname in ('public', 'drizzle')`
  await close()
  const place = join(env.DATA_DIR, 'files')
  const entries = existsSync(place) ? await readdir(place, { recursive: true, withFileTypes: true }) : []
  return { tables: tables.length, files: entries.filter((each) => each.isFile()).length }
}

/** The structure of a database, without its rows. */
async function describe (url: string) {
  const { sql, close } = connect(url, 1)
  const found = [
    await sql`select conname, conrelid::regclass::text as t, pg_get_constraintdef(oid) as d, convalidated
      from pg_constraint where connamespace = 'public'::regnamespace order by 2, 1`,
    await sql`select tgname, tgrelid::regclass::text as t, tgenabled from pg_trigger where not tgisinternal
      order by 2, 1`,
    await sql`select indexdef from pg_indexes where schemaname = 'public' order by 1`,
    await sql`select sequencename, last_value from pg_sequences where sequencename not like 'invii_sosp%'
      and sequencename not like 'audit%' and sequencename not like 'eventi_in%' order by 1`,
    await sql`select hash, created_at from drizzle.__drizzle_migrations order by created_at`
  ]
  await close()
  return found
}

/** An empty installation, as after the loss of the server. */
const afterwards = await empty(t)

const restored = await act(['restore', file], { env: afterwards })
const shapes = { restored: await describe(afterwards.DATABASE_URL), own: await describe(server.url) }

t.test('the backup of a running server is one encrypted file', async (t) => {
  t.equal(made.code, 0, made.stderr)
  const summary = JSON.parse(made.stdout) as Record<string, unknown>
  t.match(summary, { documenti: 1, mancanti: [], tabelle: { prenotazioni: 1, ospiti: 2, invii: 1, ricevute: 1 } })
  t.same(await readdir(folder), ['locanda.tar.age'])
  t.notMatch((await readFile(file)).toString('latin1'), 'example.org')
  const verified = await act(['--json', 'backup', '--verify', file], { env: { BACKUP_PASSPHRASE } })
  t.equal(verified.code, 0, verified.stderr)
  t.match(JSON.parse(verified.stdout), { documenti: 1, tabelle: summary.tabelle })
})

t.test('age and tar open a backup without Locanda', async (t) => {
  const age = new Decrypter()
  age.addPassphrase(BACKUP_PASSPHRASE)
  const archive = join(temporaryFolder(t), 'locanda.tar')
  await writeFile(archive, await age.decrypt(await readFile(file)))
  const tar = (...args: string[]) => execFileSync('tar', [...args, '-f', archive], { encoding: 'utf8' })
  const names = tar('-t').trim().split('\n')
  t.equal(names[0], 'manifest.json')
  t.equal(names.at(-1), 'summary.json')
  t.equal(names.filter((name) => name.startsWith('files/')).length, 1)
  const part = (name: string) => tar('-x', '-O', name)
  const { columns } = JSON.parse(part('manifest.json')) as Manifest
  const rows = part('tables/ospiti.copy').trim().split('\n').map((line) => line.split('\t'))
  t.equal(rows.length, 2)
  t.ok(rows.every((row) => row.length === columns.ospiti!.length))
  t.match(JSON.parse(part('summary.json')), { files: 1, tables: { ospiti: 2, prenotazioni: 1 } })
})

const tools = ['age', 'script', 'tar'].filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0)

const skip = tools.length > 0 && `not installed: ${tools.join(', ')}`

t.test('the command age opens a backup', { skip }, async (t) => {
  const archive = join(temporaryFolder(t), 'locanda.tar')
  // `age` reads the passphrase only from a terminal.
  const child = spawn('script', ['-qec', `age -d -o ${archive} ${file}`, '/dev/null'], { stdio: 'pipe' })
  child.stdout.once('data', () => { child.stdin.write(`${BACKUP_PASSPHRASE}\n`) })
  t.same(await once(child, 'close'), [0, null])
  const rows = execFileSync('tar', ['-x', '-O', '-f', archive, 'tables/prenotazioni.copy'], { encoding: 'utf8' })
  t.equal(rows.trim().split('\n').length, 1)
})

t.test('a restored server gives the same responses as the lost one', async (t) => {
  t.equal(restored.code, 0, restored.stderr)
  const { DATABASE_URL, DATA_DIR, MASTER_KEY } = afterwards
  const next = await build(t, { ...environ, DATABASE_URL, DATA_DIR, MASTER_KEY })
  t.same(await readState(next, booking, submission), before)
  t.ok(before.reads.every(({ statusCode }) => statusCode === 200))
  t.equal(before.signedIn, 200)

  const suspension = (await next.call('GET', '/api/v1/invii/sospensione')).json<{ sospeso: boolean }>()
  t.match(suspension, { sospeso: true, chi: 'anna', motivo: /^ferie\. .*ripristinato un salvataggio/ })
  const calls = police.callsOf('Send').length
  const refused = await next.call('POST', '/api/alloggiati/invio', invio([guestNo(2)]))
  t.match(refused.json(), { status: 422, codice: 'INVII_SOSPESI' })
  t.equal(police.callsOf('Send').length, calls, 'nothing is sent')

  const admin = { authorization: `Bearer ${await next.token({ name: 'capo', role: 'admin' })}` }
  const verdict = async (url: string) => (await next.app.inject({ url, headers: admin })).json<object>()
  t.match(await verdict('/api/v1/audit/verifica'), { integro: true })
  t.match(await verdict('/api/v1/invii/verifica'), { integra: true })
  const resumed = await next.app.inject({
    method: 'POST',
    url: '/api/v1/invii/sospensione',
    headers: admin,
    payload: { sospeso: false, motivo: 'Ricevute confrontate' }
  })
  t.match(resumed.json(), { sospeso: false })
  t.equal((await next.call('POST', '/api/alloggiati/invio', invio([guestNo(2)]))).statusCode, 200)
  t.ok((await create(next.call)).id > booking, 'new ids follow the restored ones')
})

t.test('a restore keeps triggers, foreign keys, indexes and sequences', async (t) => {
  t.equal(restored.code, 0, restored.stderr)
  t.same(shapes.restored, shapes.own)
})

t.test('a backup that cannot be restored is refused in one line, and leaves no table or file', async (t) => {
  const env = await empty(t)
  const content = await readFile(file)
  const cut = join(folder, 'tagliato.tar.age')
  const changed = join(folder, 'cambiato.tar.age')
  await writeFile(cut, content.subarray(0, content.length - 1))
  const flipped = Buffer.from(content)
  flipped[content.length - 100]! ^= 1
  await writeFile(changed, flipped)
  const cases: [string, string, Record<string, string>, RegExp][] = [
    ['a wrong passphrase', file, { BACKUP_PASSPHRASE: 'non è questa' }, /passphrase/],
    ['a cut file', cut, {}, /danneggiato o incompleto/],
    ['a flipped bit', changed, {}, /danneggiato o incompleto/],
    ['no backup', join(server.dataDir, 'master.key'), {}, /non è un salvataggio|non si può leggere/],
    ['no file', join(folder, 'nessuno.tar.age'), {}, /ENOENT/],
    ['another master key', file, { MASTER_KEY: Buffer.alloc(32, 7).toString('base64') }, /MASTER_KEY non è quella/],
    ['no master key', file, { MASTER_KEY: '' }, /master\.key/],
    ['a database in use', file, { DATABASE_URL: server.url }, /database non è vuoto/]
  ]
  for (const [title, path, more, expected] of cases) {
    const { code, stdout, stderr } = await act(['restore', path], { env: { ...env, ...more } })
    t.equal(code, 1, title)
    t.equal(stdout, '', title)
    t.match(stderr, /^Errore: [^\n]+\n$/, title)
    t.match(stderr, expected, title)
  }
  t.same(await remains(env), { tables: 0, files: 0 })
  await rm(cut)
  await rm(changed)
})

t.test('a restore into a file store of another database is refused', async (t) => {
  const env = { ...await empty(t), DATA_DIR: server.dataDir }
  const { code, stderr } = await act(['restore', file], { env })
  t.equal(code, 1)
  t.match(stderr, /archivio dei file .* non è vuoto/)
  t.equal((await remains(env)).tables, 0)
})

t.test('a file deleted during a backup is kept until the backup ends', async (t) => {
  const { app } = server
  const { id } = await create(server.call)
  const { upload, stored } = uploading(server)
  await upload(id, { image: await jpeg() })
  const [name] = await stored(id)
  const object = (await app.files.find(app.db, 'documents', name!))!
  const kept = join(server.dataDir, 'files', object.id.slice(0, 2), object.id)
  await app.db.transaction((tx) => app.files.discard(tx, [object]))
  const round = async () => {
    const marker = { require: async () => {}, adopted: async () => undefined }
    const backend = folderBackend(join(server.dataDir, 'files'))
    const worker = removalWorker({ db: app.db, backend, marker, log: pino({ level: 'silent' }) })
    worker.wake()
    await worker.stop()
  }
  const { sql, close } = connect(server.url, 1)
  await sql`select pg_advisory_lock(${LOCKS.backup})`
  await round()
  t.ok(existsSync(kept))
  await close()
  await until(async () => {
    await round()
    return !existsSync(kept)
  })
})

t.test('a backup names a missing file, and passes its verification', async (t) => {
  const { app } = server
  const { id } = await create(server.call)
  const { upload, stored } = uploading(server)
  await upload(id, { image: await jpeg() })
  const [name] = await stored(id)
  const object = (await app.files.find(app.db, 'documents', name!))!
  await rm(join(server.dataDir, 'files', object.id.slice(0, 2), object.id))
  const path = join(folder, 'mancante.tar.age')
  const ended = await act(['backup', path], { env: own })
  t.equal(ended.code, 0)
  t.match(ended.stderr, new RegExp(object.id))
  t.equal((await act(['backup', '--verify', path], { env: own })).code, 0)
})

t.test('a backup reports and skips tables and columns that an operator added, and can be restored', async (t) => {
  const { sql } = server.app
  await sql.unsafe(`create table copia as select * from prenotazioni;
    create table "Elenco mio" (id serial primary key, prenotazione_id integer references prenotazioni (id));
    insert into "Elenco mio" (prenotazione_id) values (null);
    alter table prenotazioni add column "nota mia" text not null default 'x';
    alter table webhooks add column popolazione integer`)
  t.teardown(() => sql.unsafe(`drop table copia, "Elenco mio"; alter table prenotazioni drop column "nota mia";
    alter table webhooks drop column popolazione`))
  const path = join(folder, 'aggiunte.tar.age')
  const ended = await act(['--json', 'backup', path], { env: own })
  t.equal(ended.code, 0, ended.stderr)
  const named = ['Elenco mio', 'copia', 'prenotazioni.nota mia', 'webhooks.popolazione']
  t.same((JSON.parse(ended.stdout) as { non_salvati: string[] }).non_salvati, named)
  t.match(ended.stderr, `non sono di Locanda: ${named.join(', ')}`)
  const env = await empty(t)
  // The restore verifies the backup first.
  const restored = await act(['--json', 'restore', path], { env })
  t.equal(restored.code, 0, restored.stderr)
  const { sql: there, close } = connect(env.DATABASE_URL, 1)
  t.teardown(close)
  const [{ saved }] = await sql<[{ saved: number }]>`select count(*)::int as saved from prenotazioni`
  t.match(await there`select to_regclass('copia') as copia, count(*)::int from prenotazioni`, [
    { copia: null, count: saved }
  ])
})

const SMALL = { statement_timeout: '0' }

t.test('a backup fails when the disk becomes full in the middle of a table, and leaves no file', async (t) => {
  await server.app.sql`insert into eventi (id, tipo, oggetto, dettaglio, quando)
    select gen_random_uuid(), 'allarme.sollevato', 'prova:' || n, (
      select string_agg(encode(sha512((n * 97 + k)::text::bytea), 'hex'), '') from generate_series(1, 60) k
    ), now() from generate_series(1, 2000) n`
  const path = join(folder, 'pieno.tar.age')
  // Limit of 500 KiB, in blocks of 512 bytes. Above it writes fail as on a full disk, if the signal is ignored.
  const ignore = '--import=data:text/javascript,process.on("SIGXFSZ", () => {})'
  const limited = ['-c', 'ulimit -f 1000; exec "$0" "$@"', process.execPath, ignore, PROGRAM, 'backup', path]
  const child = spawn('sh', limited, { env: { ...own, LC_ALL: 'C' }, stdio: ['ignore', 'ignore', 'pipe'] })
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
  t.equal(code, 1)
  t.match(said, /^Errore: \S+pieno\.tar\.age\.partial non si può scrivere \(EFBIG\)\n$/)
  t.notOk(existsSync(path) || existsSync(`${path}.partial`))
  await server.app.sql`delete from eventi where oggetto like 'prova:%'`
})

t.test('restored files are removed when the transaction fails', async (t) => {
  const env = await empty(t)
  const { sql, close } = connect(env.DATABASE_URL, 1, SMALL)
  t.teardown(close)
  const place = join(env.DATA_DIR, 'files')
  await mkdir(place)
  const real = folderBackend(place)
  let written = 0
  const backend: Backend = {
    ...real,
    async put (id, content) {
      if (written > 0) t.match(await remains(env), { files: written })
      // The last file identifies the database to which the file store belongs.
      if (written > 0) throw new Error('the file store does not respond')
      await real.put(id, content)
      written++
    }
  }
  const keys = createKeys(Buffer.from(own.MASTER_KEY, 'base64'))
  const restoring = restoreBackup({ sql, backend, keys }, file, BACKUP_PASSPHRASE)
  await t.rejects(restoring, { message: 'the file store does not respond' })
  t.equal(written, 1)
  t.same(await remains(env), { tables: 0, files: 0 })
})

/** Runs the real tool, and sends it a signal when a condition is true. Returns the output. */
async function killed (
  args: string[], env: Record<string, string>, isReached: () => boolean, signal: 'SIGKILL' | 'SIGINT' = 'SIGKILL'
): Promise<string> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const [said, end] = [text(child.stderr), once(child, 'close')]
  await until(() => isReached() || child.exitCode !== null)
  child.kill(signal)
  t.same(await end, signal === 'SIGKILL' ? [null, 'SIGKILL'] : [130, null], 'the tool was running')
  return await said
}

t.test('a killed backup keeps the previous file, and the next backup is complete', async (t) => {
  const path = join(folder, 'ucciso.tar.age')
  await writeFile(path, 'age-encryption.org/v1\n di prima')
  const { sql, close } = connect(server.url, 1)
  // The tool has written other tables, and waits for this one.
  await sql.begin(async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`
    await tx`lock table users in access exclusive mode`
    await killed(['backup', path], own, () => existsSync(`${path}.partial`))
  })
  await close()
  t.equal(await readFile(path, 'utf8'), 'age-encryption.org/v1\n di prima')
  t.equal((await act(['backup', path], { env: own })).code, 0)
  t.equal((await act(['backup', '--verify', path], { env: own })).code, 0)
  t.notOk(existsSync(`${path}.partial`))
})

for (const signal of ['SIGKILL', 'SIGINT'] as const) {
  t.test(`a restore interrupted by ${signal} leaves no table, and can be repeated`, async (t) => {
    const env = await empty(t)
    const { sql, close } = connect(env.DATABASE_URL, 1)
    // The tool waits for this uncommitted table.
    await sql.begin(async (tx) => {
      await tx`set local idle_in_transaction_session_timeout = 0`
      await tx`create table users (id int)`
      const isWaiting = () => existsSync(join(env.DATA_DIR, 'files'))
      const said = await killed(['restore', file], env, isWaiting, signal)
      t.equal(said, signal === 'SIGINT' ? 'Ripristino interrotto\n' : '')
      await tx`drop table users`
    })
    await close()
    await until(async () => (await remains(env)).tables === 0)
    const again = await act(['restore', file], { env })
    t.equal(again.code, 0, again.stderr)
    t.equal((await remains(env)).files, 2, 'the file and the empty marker file')
  })
}

t.test('a backup of an older version is migrated, and one of a newer version is refused', async (t) => {
  const known = knownMigrations()
  const keys = createKeys(Buffer.from(own.MASTER_KEY, 'base64'))
  const older = await testDatabase(t, true)
  const { sql, close } = connect(older.url, 1)
  await sql.begin((tx) => applyMigrations(tx, known.slice(0, 1)))
  await sql`insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
    values ('Prenotazione Vecchia', 'IT', 380, '2026-01-01', '2026-01-03', 2)`
  const path = join(folder, 'vecchio.tar.age')
  const backend = folderBackend(temporaryFolder(t))
  await createBackup({ sql, backend, keys }, path, BACKUP_PASSPHRASE)
  await close()
  const env = await empty(t)
  const ended = await act(['restore', path], { env })
  t.equal(ended.code, 0, ended.stderr)
  const { DATABASE_URL, DATA_DIR, MASTER_KEY } = env
  const next = await build(t, { ...environ, DATABASE_URL, DATA_DIR, MASTER_KEY })
  t.equal(await lastMigration(next.app.sql), known.at(-1)!.folderMillis)
  t.match((await next.call('GET', '/api/v1/prenotazioni')).json(), { data: [{ nome_cognome: 'Prenotazione Vecchia' }] })

  const manifest: Manifest = {
    version: '9.9.9',
    created: '2030-01-01T00:00:00.000Z',
    migration: 9e12,
    masterKey: masterKeyMark(keys),
    columns: {}
  }
  const end: Summary = { tables: {}, files: 0, bytes: 0, missing: [], foreign: [], sequences: {} }
  const entry = (name: string, value: object): Entry => {
    const content = Buffer.from(JSON.stringify(value))
    return { name, size: content.length, content: [content] }
  }
  const content = Readable.from([entry('manifest.json', manifest), entry('summary.json', end)])
  await writeFile(path, Readable.from(seal(content, BACKUP_PASSPHRASE)))
  const newer = await empty(t)
  const refused = await act(['restore', path], { env: newer })
  t.equal(refused.code, 1)
  t.match(refused.stderr, /^Errore: il salvataggio è di Locanda 9\.9\.9, più recente[^\n]*\n$/)
  t.same(await remains(newer), { tables: 0, files: 0 })
})

t.test('wrong usage of the commands and a missing server are reported', async (t) => {
  for (const [args, env, expected] of [
    [['backup', file], { ...own, BACKUP_PASSPHRASE: '' }, /Passphrase del salvataggio: manca/],
    [['backup', file], { ...own, BACKUP_PASSPHRASE: 'corta' }, /almeno 12/],
    [['backup'], own, /Manca l’argomento/],
    [['backup', ''], own, /file: «\s*» è vuoto/],
    [['restore', ' '], own, /file: «\s*» è vuoto/]
  ] as const) {
    const { code, stderr } = await act(args, { env })
    t.equal(code, 2)
    t.match(stderr, expected)
  }
  const nowhere = await act(['backup', join(folder, 'x.tar.age')], {
    env: { ...own, DATABASE_URL: '', DATA_DIR: temporaryFolder(t) }
  })
  t.equal(nowhere.code, 1)
  t.match(nowhere.stderr, /^Errore: DATA_DIR: nessun server[^\n]*\n$/)
})
