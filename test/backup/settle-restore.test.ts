import { copyFile, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import type { MintedKey } from '#schemas/api-key.ts'
import { create, guests, saveGuests } from '#test/bookings/samples.ts'
import { user } from '#test/cli/process.ts'
import { testDatabase } from '#test/database.ts'
import { uploading } from '#test/documents/uploading.ts'
import { build, signIn, temporaryFolder, type TestApp } from '#test/helper.ts'
import { runJob } from '#test/run-job.ts'
import { jpeg } from '#test/services/images/pictures.ts'
import { store } from '#test/storage/samples.ts'

const BACKUP_PASSPHRASE = 'otto barche sul lago'
const BACKUP_DIR = temporaryFolder(t)
const backup = join(BACKUP_DIR, 'locanda-2026-11-20.tar.age')
const { act } = user(t)

interface Restored {
  sessioni_terminate: number
  chiavi_revocate: { id: string, nome: string, email: string }[]
  file_cancellazioni: string
  ripetere_dal: string
  ripetuti: Record<string, string[]> | null
}

/** A person with a session, and with a key that was made in this session. */
async function person ({ app }: TestApp, name: string, role: 'admin' | 'operator' = 'operator') {
  const { access_token, refresh_token, user: { id } } = await signIn(app, name, role)
  const authorization = `Bearer ${access_token}`
  const { apiKey, id: keyId } = (await app.inject({ url: '/api/cli/auth/key', headers: { authorization } }))
    .json<MintedKey>()
  return { id, authorization, refresh_token, apiKey, keyId }
}

/** Makes a backup, then bans a user and erases data. The backup lacks these changes. */
async function backUpThenErase () {
  const server = await build(t, { BACKUP_DIR, BACKUP_PASSPHRASE })
  const [capo, anna, bruno, carla] = [
    await person(server, 'capo', 'admin'), await person(server, 'anna'), await person(server, 'bruno'),
    await person(server, 'carla')
  ]
  const [kept, erased, deleted] = [await create(server.call), await create(server.call), await create(server.call)]
  await saveGuests(server.call, erased.id, guests(1))
  await uploading(server).upload(erased.id, { image: await jpeg() })
  await store(server, 'public', 'resta.txt', 'resta')
  await store(server, 'public', 'via.txt', 'via')
  const env = {
    DATABASE_URL: server.url,
    DATA_DIR: server.dataDir,
    MASTER_KEY: server.masterKey,
    BACKUP_PASSPHRASE
  }
  const made = await act(['backup', backup], { env })
  if (made.code !== 0) throw new Error(made.stderr)

  const headers = { authorization: capo.authorization }
  const change = async (method: 'POST' | 'PUT' | 'DELETE', url: string, payload: object = {}) => {
    const { statusCode, body } = await server.app.inject({ method, url, headers, payload })
    if (statusCode >= 300) throw new Error(`${method} ${url}: ${body}`)
  }
  await change('PUT', `/auth/v1/admin/users/${anna.id}`, { ban_duration: '1000h' })
  await change('DELETE', `/auth/v1/admin/users/${bruno.id}`)
  await change('POST', `/api/v1/prenotazioni/${erased.id}/cancellazione`)
  await change('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [deleted.id] })
  await store(server, 'public', 'via.txt', 'nuovo contenuto')
  await change('DELETE', '/storage/v1/object/public', { prefixes: ['via.txt'] })
  // An id that the backup lacks. After a restore the next booking gets this id.
  const later = await create(server.call)
  await change('POST', `/api/v1/prenotazioni/${later.id}/cancellazione`)
  await runJob(server, 'erasures-file')
  return { env, capo, anna, bruno, carla, kept, erased, deleted, later }
}

const { env, capo, anna, bruno, carla, kept, erased, deleted, later } = await backUpThenErase()
const [listName = ''] = (await readdir(BACKUP_DIR)).filter((name) => name.endsWith('.json'))

/** Restores a backup into an empty installation. */
async function restore (t: Test, path: string, args: readonly string[] = []) {
  const empty = { ...env, DATABASE_URL: (await testDatabase(t, true)).url, DATA_DIR: temporaryFolder(t) }
  const ended = await act([...args, 'restore', path], { env: empty })
  t.equal(ended.code, 0, ended.stderr)
  return { ...ended, env: empty }
}

const start = (t: Test, { DATABASE_URL, DATA_DIR, MASTER_KEY }: typeof env) =>
  build(t, { DATABASE_URL, DATA_DIR, MASTER_KEY, BACKUP_DIR, BACKUP_PASSPHRASE })

t.test('the file of erasures contains only ids, and only its owner can read it', async (t) => {
  t.equal((await stat(join(BACKUP_DIR, listName))).mode & 0o777, 0o600)
  t.match(listName, /^locanda-cancellazioni-[0-9a-f]{16}\.json$/)
  const { fino_a, impronta, ...rest } = JSON.parse(await readFile(join(BACKUP_DIR, listName), 'utf8')) as
    Record<string, unknown>
  t.match({ fino_a, impronta }, { fino_a: /^\d{4}-.*Z$/, impronta: /^[0-9a-f]{64}$/ })
  t.match(rest, {
    cancellati: {
      utenti: [bruno.id],
      prenotazioni: [erased.id, deleted.id, later.id].map(String),
      scansioni: [],
      file: [/^[\w-]{36}$/]
    },
    bloccati: [{ id: anna.id }]
  })
  t.notMatch(JSON.stringify(rest), /example\.org|via\.txt/)
})

t.test('a restore ends all access, and repeats the erasures and bans that the file lists', async (t) => {
  const restored = await restore(t, backup, ['--json'])
  const result = JSON.parse(restored.stdout) as Restored
  t.equal(result.sessioni_terminate, 4)
  const keysOf = [capo, anna, bruno, carla].map(({ keyId }) => keyId)
  t.same(result.chiavi_revocate.map(({ id }) => id).toSorted(), keysOf.toSorted())
  t.match(result.chiavi_revocate.find(({ id }) => id === carla.keyId), { nome: 'locanda', email: 'carla@example.org' })
  t.match(result.ripetuti, {
    utenti: [bruno.id],
    prenotazioni: [erased.id, deleted.id].map(String),
    bloccati: [anna.id],
    file: { length: 1 }
  })
  const list = JSON.parse(await readFile(join(BACKUP_DIR, listName), 'utf8')) as { fino_a: string }
  t.equal(result.ripetere_dal, list.fino_a)

  const next = await start(t, restored.env)
  for (const { authorization, apiKey, refresh_token } of [capo, anna, bruno, carla]) {
    for (const headers of [{ authorization }, { 'x-api-key': apiKey }]) {
      t.equal((await next.app.inject({ url: '/api/v1/prenotazioni', headers })).statusCode, 401)
    }
    const refreshed = await next.app.inject({
      method: 'POST', url: '/auth/v1/token?grant_type=refresh_token', payload: { refresh_token }
    })
    t.equal(refreshed.statusCode, 400)
  }
  t.same([...await next.app.sql`select id, banned_until > now() as banned from users where id in (
    ${anna.id}, ${bruno.id}, ${carla.id}) order by email`],
  [{ id: anna.id, banned: true }, { id: carla.id, banned: null }])

  for (const [id, status] of [[kept.id, 200], [erased.id, 404], [deleted.id, 404]] as const) {
    t.equal((await next.call('GET', `/api/v1/prenotazioni/${id}`)).statusCode, status)
  }
  const objects = await next.app.sql<{ name: string }[]>`select name from objects order by name`
  t.same(objects.map(({ name }) => name), ['resta.txt'])
  t.equal((await create(next.call)).id, later.id, 'the id of the later booking is assigned again')

  const again = await signIn(next.app, 'capo', 'admin')
  const headers = { authorization: `Bearer ${again.access_token}` }
  t.match((await next.app.inject({ url: '/api/v1/audit/verifica', headers })).json(), { integro: true })
  await next.app.close()

  const third = await start(t, restored.env)
  t.equal((await third.call('GET', `/api/v1/prenotazioni/${later.id}`)).statusCode, 200, 'the new booking stays')
  await runJob(third, 'erasures-file')
  const names = (await readdir(BACKUP_DIR)).filter((name) => name.endsWith('.json'))
  t.equal(names.length, 2, 'the restored database has its own file')
})

t.test('without a valid file, a restore reports the time from which erasures must be repeated', async (t) => {
  const folder = temporaryFolder(t)
  const path = join(folder, basename(backup))
  await copyFile(backup, path)
  const content = await readFile(join(BACKUP_DIR, listName), 'utf8')
  for (const list of [undefined, content.replace(bruno.id, carla.id), '{"cancellati":']) {
    if (list !== undefined) await writeFile(join(folder, listName), list)
    const { stderr, env } = await restore(t, path)
    t.match(stderr, /locanda-cancellazioni-\w{16}\.json manca o non è valido: ripetere a mano le cancellazioni e i/)
    t.match(stderr, / dal \d\d\/\d\d\/\d{4}, \d\d:\d\d\n/)
    t.match(stderr, /Tutte le sessioni sono terminate \(4\) e tutte le chiavi API revocate \(4\)/)
    t.match(stderr, `Chiave API revocata: ${carla.keyId} «locanda» di carla@example.org`)
    if (list !== undefined) continue
    const next = await start(t, env)
    t.equal((await next.call('GET', `/api/v1/prenotazioni/${erased.id}`)).statusCode, 200)
    const headers = { 'x-api-key': anna.apiKey }
    t.equal((await next.app.inject({ url: '/api/v1/prenotazioni', headers })).statusCode, 401)
  }
})
