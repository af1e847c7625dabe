import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import type { Backend } from '#src/plugins/storage/backends/backend.ts'
import type { StoredObject } from '#src/plugins/storage/storage.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { build, extraRoutes } from '#test/helper.ts'
import { codeOf } from './failures.ts'
import { keep, PLACE } from './storage-rules.ts'

const systemError = (code: string) => Object.assign(new Error(`${code}: write`), { code, syscall: 'write', errno: -5 })

/** A server whose disk fails as the test says. */
async function failingServer (t: Test) {
  const fault: { code?: string | undefined, act?: keyof Backend, only?: string } = {}
  const check = (act: keyof Backend) => { if (fault.code && fault.act === act) throw systemError(fault.code) }
  const wrapBackend = (backend: Backend): Backend => ({
    ...backend,
    put: async (id, content) => backend.put(id, (async function * () {
      let bytes = 0
      for await (const piece of content) {
        yield piece
        if ((bytes += piece.length) > 100_000) check('put')
      }
    })()),
    get: async (id, range) => {
      check('get')
      return backend.get(id, range)
    },
    delete: async (id) => {
      if (fault.only === undefined || fault.only === id) check('delete')
      return backend.delete(id)
    }
  })
  const prepare = extraRoutes((app) => app.get('/prova', {
    config: { access: 'public' },
    schema: { operationId: 'prova', errorCodes: ['ARCHIVIO_NON_DISPONIBILE'], response: {} }
  }, async () => app.storage.write(randomBytes(200_000), PLACE, 1_000_000)))
  return { fault, ...await build(t, {}, prepare, { wrapBackend }) }
}

const filesIn = (dataDir: string) =>
  readdirSync(join(dataDir, 'files'), { recursive: true, encoding: 'utf8' }).filter((name) => name.length > 2).sort()

t.test('without room an upload is SPAZIO_ESAURITO, with a faulty disk ARCHIVIO_NON_DISPONIBILE, and leaves nothing',
  async (t) => {
    const built = await failingServer(t)
    const { fault, app, dataDir, call } = built
    const object = await keep(built, Buffer.from('prima'))
    const before = filesIn(dataDir)
    // What is injected stands where the content is read: it must be told from a fault of the caller's.
    fault.act = 'put'
    for (const code of ['ENOSPC', 'EDQUOT', 'EIO', 'EROFS']) {
      fault.code = code
      const expected = ['ENOSPC', 'EDQUOT'].includes(code) ? 'SPAZIO_ESAURITO' : 'ARCHIVIO_NON_DISPONIBILE'
      t.equal(await codeOf(keep(built, randomBytes(200_000))), expected, code)
      const answer = await call('GET', '/prova')
      t.match([answer.statusCode, answer.json()], [503, { codice: expected }])
      t.same(filesIn(dataDir), before)
    }
    fault.code = undefined
    t.equal(String(await buffer(await app.storage.read(object))), 'prima')
    await keep(built, randomBytes(200_000))
  })

t.test('what cannot be read for a fault of the disk is a 503, and the object stays', async (t) => {
  const built = await failingServer(t)
  const object = await keep(built, Buffer.from('prima'))
  Object.assign(built.fault, { act: 'get', code: 'EIO' })
  t.equal(await codeOf(built.app.storage.read(object)), 'ARCHIVIO_NON_DISPONIBILE')
  built.fault.code = undefined
  t.equal(String(await buffer(await built.app.storage.read(object))), 'prima')
})

t.test('a file that cannot be removed is tried again later, and the others are removed', async (t) => {
  const built = await failingServer(t)
  const { app, fault, dataDir } = built
  const object = await keep(built, Buffer.from('uno'))
  Object.assign(fault, { act: 'delete', code: 'EIO' })
  await app.db.transaction((tx) => app.storage.discard(tx, [object]))
  app.storage.removeDiscarded()
  const rows = () => app.sql<{ attempts: number, later: boolean }[]>`
    select attempts, next_attempt_at between now() and now() + interval '2 minutes' as later from discarded_files`
  await until(async () => (await rows())[0]?.later === true)
  t.match([...await rows()], [{ attempts: 1, later: true }])
  t.ok(filesIn(dataDir).some((name) => name.includes(object.id)))
  fault.code = undefined
  await app.sql`update discarded_files set next_attempt_at = now()`
  app.storage.removeDiscarded()
  await until(async () => (await rows()).length === 0)
  t.notOk(filesIn(dataDir).some((name) => name.includes(object.id)))
})

t.test('of many discarded files one that cannot be removed keeps no other one', async (t) => {
  const built = await failingServer(t)
  const { app, fault, dataDir } = built
  const objects: StoredObject[] = []
  for (let at = 0; at < 6; at++) objects.push(await keep(built, Buffer.from(`n. ${at}`), `n${at}`))
  Object.assign(fault, { act: 'delete', code: 'EACCES', only: objects[0]!.id })
  await app.db.transaction((tx) => app.storage.discard(tx, objects))
  app.storage.removeDiscarded()
  await until(async () => (await app.sql`select from discarded_files where next_attempt_at > now()`).length === 1)
  await until(() => filesIn(dataDir).filter((name) => objects.some(({ id }) => name.includes(id))).length === 1)
  t.match([...await app.sql`select id, attempts from discarded_files`], [{ id: objects[0]!.id, attempts: 1 }])
  fault.code = undefined
})

t.test('where no file can be removed, few are tried at a time, and the others stay due', async (t) => {
  const built = await failingServer(t)
  const { app, fault } = built
  const objects: StoredObject[] = []
  for (let at = 0; at < 6; at++) objects.push(await keep(built, Buffer.from(`n. ${at}`), `n${at}`))
  Object.assign(fault, { act: 'delete', code: 'EIO' })
  await app.db.transaction((tx) => app.storage.discard(tx, objects))
  app.storage.removeDiscarded()
  const attempts = async () => (await app.sql<{ attempts: number }[]>`
    select attempts from discarded_files order by attempts`).map((row) => row.attempts)
  await until(async () => String(await attempts()) === '0,0,0,1,1,1')
  t.equal((await app.sql`select from discarded_files where next_attempt_at <= now()`).length, 3)
  fault.code = undefined
})

t.test('an upload that the caller breaks off is the caller\'s error, and leaves nothing', async (t) => {
  const built = await build(t)
  await keep(built, Buffer.from('prima'))
  const before = filesIn(built.dataDir)
  const broken = Readable.from((async function * () {
    yield randomBytes(100_000)
    throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
  })())
  t.equal(await codeOf(built.app.storage.write(broken, PLACE, 1_000_000)), 'ECONNRESET')
  const long = Readable.from([randomBytes(100), randomBytes(100), randomBytes(100)])
  t.equal(await codeOf(built.app.storage.write(long, PLACE, 150)), 'CONTENUTO_TROPPO_GRANDE')
  t.equal(long.destroyed, false, 'the rest of a request can still be read, and the request be answered')
  t.same(filesIn(built.dataDir), before)
})

t.test('a folder of files that has gone, or stands empty for want of its volume, is not taken for the right one',
  async (t) => {
    const built = await build(t)
    const { app, dataDir, call, logs } = built
    const object = await keep(built, Buffer.from('prima'))
    const root = join(dataDir, 'files')
    renameSync(root, `${root}.away`)
    for (const state of ['gone', 'empty']) {
      if (state === 'empty') mkdirSync(root)
      t.equal(await codeOf(keep(built, Buffer.from('dopo'))), 'ARCHIVIO_NON_DISPONIBILE', state)
      t.equal(await codeOf(app.storage.read(object)), 'ARCHIVIO_NON_DISPONIBILE', state)
      await app.db.transaction(async (tx) => {
        await tx.execute('insert into discarded_files (id) values (gen_random_uuid())')
      })
      const failures = () => logs.filter(({ msg }) => msg === 'discarded files could not be removed').length
      const before = failures()
      app.storage.removeDiscarded()
      await until(async () => failures() > before)
      const claimed = await app.sql`select from discarded_files where attempts > 0`
      t.equal(claimed.length, 0, 'a process that has the files may remove them meanwhile')
      t.equal((await call('GET', '/health/ready')).statusCode, 200)
    }
    t.same(readdirSync(root), [], 'nothing was made in it')
    t.ok(logs.some(({ msg }) => msg === 'the place of the files is another one, or is not mounted'))
    rmSync(root, { recursive: true })
    renameSync(`${root}.away`, root)
    t.equal(String(await buffer(await app.storage.read(object))), 'prima')
    await keep(built, Buffer.from('dopo'))
  })

t.test('two databases do not share a folder of files', async (t) => {
  const one = await build(t)
  await keep(one, Buffer.from('x'))
  const { dataDir: DATA_DIR, masterKey: MASTER_KEY } = one
  const other = await build(t, { DATA_DIR, MASTER_KEY })
  t.equal(await codeOf(keep(other, Buffer.from('y'))), 'ARCHIVIO_NON_DISPONIBILE')
})
