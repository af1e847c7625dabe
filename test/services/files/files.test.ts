import { spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import {
  existsSync, mkdirSync, readdirSync, renameSync, rmSync, truncateSync, utimesSync, writeFileSync
} from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { createKeys } from '#src/lib/secrets.ts'
import { connect } from '#src/database/connect.ts'
import type { Backend } from '#src/services/files/backends/backend.ts'
import { rotateKeys } from '#src/services/files/key-rotation.ts'
import type { StoredFile } from '#src/services/files/file-service.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { build, extraRoutes, type TestApp } from '#test/helper.ts'
import { COMPILE_CACHE } from '#test/setup/processes.ts'
import { codeOf, keep, PLACE } from './file-service-rules.ts'

const systemError = (code: string) => Object.assign(new Error(`${code}: write`), { code, syscall: 'write', errno: -5 })

/** The failure that the shared server's disk has now. */
const fault: { code?: string | undefined, act?: keyof Backend, only?: string | undefined } = {}

/** A server whose disk fails as a test needs. */
async function failingServer () {
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
  }, async () => app.files.write(randomBytes(200_000), PLACE, 1_000_000)))
  return await build(t, {}, prepare, { wrapBackend })
}

const failing = await failingServer()
t.afterEach(async () => {
  Object.assign(fault, { code: undefined, act: undefined, only: undefined })
  await failing.app.sql`update discarded_files set next_attempt_at = now()`
  failing.app.files.removeDiscarded()
  await until(async () => (await failing.app.sql`select from discarded_files`).length === 0)
})

async function keepSix (built: TestApp): Promise<StoredFile[]> {
  return await Promise.all(Array.from({ length: 6 }, (_, at) => keep(built, Buffer.from(`n. ${at}`), `n${at}`)))
}

const filesIn = (dataDir: string) =>
  readdirSync(join(dataDir, 'files'), { recursive: true, encoding: 'utf8' }).filter((name) => name.length > 2).sort()

/** An id that the backend fails to delete. */
const FAULTY = `00${randomUUID().slice(2)}`

/** A server for tests that undo their changes. */
const shared = await server(t, {
  wrapBackend: (backend) => ({
    ...backend,
    delete: async (id) => {
      if (id === FAULTY) throw Object.assign(new Error('EACCES: unlink'), { code: 'EACCES' })
      await backend.delete(id)
    }
  })
})

t.test('an upload to a full disk gets SPAZIO_ESAURITO, and to a failing disk ARCHIVIO_NON_DISPONIBILE',
  async (t) => {
    const { app, dataDir, call } = failing
    const object = await keep(failing, Buffer.from('prima'))
    const before = filesIn(dataDir)
    // The failure happens at the read of the content, and must be distinguished from errors of the caller.
    fault.act = 'put'
    for (const code of ['ENOSPC', 'EDQUOT', 'EIO', 'EROFS']) {
      fault.code = code
      const expected = ['ENOSPC', 'EDQUOT'].includes(code) ? 'SPAZIO_ESAURITO' : 'ARCHIVIO_NON_DISPONIBILE'
      t.equal(await codeOf(keep(failing, randomBytes(200_000))), expected, code)
      const answer = await call('GET', '/prova')
      t.match([answer.statusCode, answer.json()], [503, { codice: expected }])
      t.same(filesIn(dataDir), before)
    }
    fault.code = undefined
    t.equal(String(await buffer(await app.files.read(object))), 'prima')
    await keep(failing, randomBytes(200_000))
  })

t.test('a file that a disk failure makes unreadable is answered with a 503, and its object stays', async (t) => {
  const object = await keep(failing, Buffer.from('prima'))
  Object.assign(fault, { act: 'get', code: 'EIO' })
  t.equal(await codeOf(failing.app.files.read(object)), 'ARCHIVIO_NON_DISPONIBILE')
  fault.code = undefined
  t.equal(String(await buffer(await failing.app.files.read(object))), 'prima')
})

t.test('a file that cannot be removed is tried again later', async (t) => {
  const { app, dataDir } = failing
  const object = await keep(failing, Buffer.from('uno'))
  Object.assign(fault, { act: 'delete', code: 'EIO' })
  await app.db.transaction((tx) => app.files.discard(tx, [object]))
  app.files.removeDiscarded()
  const rows = () => app.sql<{ attempts: number, later: boolean }[]>`
    select attempts, next_attempt_at between now() and now() + interval '90 seconds' as later from discarded_files`
  await until(async () => (await rows())[0]?.later === true)
  t.match([...await rows()], [{ attempts: 1, later: true }])
  t.ok(filesIn(dataDir).some((name) => name.includes(object.id)))
  fault.code = undefined
  await app.sql`update discarded_files set next_attempt_at = now()`
  app.files.removeDiscarded()
  await until(async () => (await rows()).length === 0)
  t.notOk(filesIn(dataDir).some((name) => name.includes(object.id)))
})

t.test('while the disk fails, few files are tried at a time, and the others stay due', async (t) => {
  const { app } = failing
  const objects = await keepSix(failing)
  Object.assign(fault, { act: 'delete', code: 'EIO' })
  await app.db.transaction((tx) => app.files.discard(tx, objects))
  app.files.removeDiscarded()
  const attempts = async () => (await app.sql<{ attempts: number }[]>`
    select attempts from discarded_files order by attempts`).map((row) => row.attempts)
  await until(async () => String(await attempts()) === '0,0,0,1,1,1')
  t.equal((await app.sql`select from discarded_files where next_attempt_at <= now()`).length, 3)
  fault.code = undefined
})

t.test('an upload that the client aborts or that is too long fails with that error, and leaves no file', async (t) => {
  const built = await build(t)
  await keep(built, Buffer.from('prima'))
  const before = filesIn(built.dataDir)
  const broken = Readable.from((async function * () {
    yield randomBytes(100_000)
    throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
  })())
  t.equal(await codeOf(built.app.files.write(broken, PLACE, 1_000_000)), 'ECONNRESET')
  const long = Readable.from([randomBytes(100), randomBytes(100), randomBytes(100)])
  t.equal(await codeOf(built.app.files.write(long, PLACE, 150)), 'CONTENUTO_TROPPO_GRANDE')
  t.equal(long.destroyed, false, 'the rest of the request can be read and answered')
  t.same(filesIn(built.dataDir), before)
})

t.test('a missing files folder, or the empty one of an unmounted volume, is answered with a 503',
  async (t) => {
    const built = await build(t)
    const { app, dataDir, call, logs } = built
    const object = await keep(built, Buffer.from('prima'))
    const root = join(dataDir, 'files')
    renameSync(root, `${root}.away`)
    for (const state of ['gone', 'empty']) {
      if (state === 'empty') mkdirSync(root)
      t.equal(await codeOf(keep(built, Buffer.from('dopo'))), 'ARCHIVIO_NON_DISPONIBILE', state)
      t.equal(await codeOf(app.files.read(object)), 'ARCHIVIO_NON_DISPONIBILE', state)
      await app.db.transaction(async (tx) => {
        await tx.execute('insert into discarded_files (id) values (gen_random_uuid())')
      })
      const failures = () => logs.filter(({ msg }) => msg === 'discarded files could not be removed').length
      const before = failures()
      app.files.removeDiscarded()
      await until(async () => failures() > before)
      const claimed = await app.sql`select from discarded_files where attempts > 0`
      t.equal(claimed.length, 0, 'a process with access to the files may remove them')
      t.equal((await call('GET', '/health/ready')).statusCode, 200)
    }
    t.same(readdirSync(root), [], 'no file was created in it')
    t.ok(logs.some(({ msg }) => msg === 'the file backend belongs to another database, or is not mounted'))
    rmSync(root, { recursive: true })
    renameSync(`${root}.away`, root)
    t.equal(String(await buffer(await app.files.read(object))), 'prima')
    await keep(built, Buffer.from('dopo'))
  })

t.test('two databases cannot share a files folder', async (t) => {
  const one = await build(t)
  await keep(one, Buffer.from('x'))
  const { dataDir: DATA_DIR, masterKey: MASTER_KEY } = one
  const other = await build(t, { DATA_DIR, MASTER_KEY })
  t.equal(await codeOf(keep(other, Buffer.from('y'))), 'ARCHIVIO_NON_DISPONIBILE')
})

const HOUR_MS = 60 * 60_000

async function server (t: Test, options?: Parameters<typeof build>[3]) {
  const built = await build(t, {}, undefined, options)
  const { app, dataDir } = built
  const pathOf = (id: string) => join(dataDir, 'files', id.slice(0, 2), id)
  const compare = async () => {
    const run = await app.jobs.start('stored-files', async () => {})
    if (typeof run === 'object') await run.ended
  }
  /** Creates a file that was last written this number of hours ago. */
  const leave = (name: string, hours: number) => {
    mkdirSync(dirname(pathOf(name)), { recursive: true })
    writeFileSync(pathOf(name), 'x')
    age(pathOf(name), hours)
    return pathOf(name)
  }
  return { ...built, pathOf, compare, leave }
}

function age (path: string, hours: number): void {
  const then = new Date(Date.now() - hours * HOUR_MS)
  utimesSync(path, then, then)
}

t.test('exactly the files that had no row for a day are removed', async (t) => {
  const built = shared
  const { app, compare, leave, pathOf, dataDir } = built
  const object = await keep(built, Buffer.from('resta'))
  for (const folder of readdirSync(join(dataDir, 'files'))) {
    for (const name of readdirSync(join(dataDir, 'files', folder))) age(join(dataDir, 'files', folder, name), 1000)
  }
  const discarded = randomUUID()
  await app.sql`insert into discarded_files (id, next_attempt_at) values (${discarded}, now() + interval '1 day')`
  const gone = [leave(randomUUID(), 25), leave(`${randomUUID()}.tmp`, 25), leave(randomUUID(), 9999)]
  const stay = [
    leave(randomUUID(), 23), leave(`${randomUUID()}.tmp`, 1), leave(discarded, 25), leave('lost+found', 25),
    leave(`${randomUUID()}.bak`, 25), pathOf(object.id)
  ]
  await compare()
  t.same(gone.map(existsSync), gone.map(() => false))
  t.same(stay.map(existsSync), stay.map(() => true))
  t.equal(String(await buffer(await app.files.read(object))), 'resta')
  t.ok(built.logs.some(({ msg, removed }) => msg === 'orphaned files were removed' && removed === 3))
})

t.test('a file that cannot be removed blocks neither the other removals nor the count of missing files', async (t) => {
  const built = shared
  const { app, compare, leave, pathOf } = built
  const object = await keep(built, Buffer.from('manca'))
  rmSync(pathOf(object.id))
  const paths = [leave(FAULTY, 25), leave(`ff${randomUUID().slice(2)}`, 25)]
  await compare()
  t.same(paths.map(existsSync), [true, false])
  t.match([...await app.sql`select missing from file_store`], [{ missing: 1 }])
  t.ok(built.logs.some((line) => line.file === FAULTY && line.level === 50))
  rmSync(pathOf(FAULTY))
  await app.db.transaction((tx) => app.files.discard(tx, [object]))
})

t.test('the comparison does not disturb an upload in progress', async (t) => {
  const built = shared
  await keep(built, Buffer.from('x'))
  const written = await built.app.files.write(Buffer.from('y'), PLACE, 10)
  await built.compare()
  const object = await built.app.db.transaction((tx) => built.app.files.keep(tx, written, { replace: true }))
  t.equal(String(await buffer(await built.app.files.read(object))), 'y')
})

t.test('rows with a missing or truncated file are counted, logged and kept', async (t) => {
  const built = await server(t)
  const { app, compare, pathOf, logs, call } = built
  const objects = []
  for (const name of ['uno', 'due', 'tre']) objects.push(await keep(built, Buffer.from('contenuto'), name))
  await compare()
  const missing = async () => /^locanda_missing_files (\d+)$/m.exec((await call('GET', '/metrics')).body)?.[1]
  t.equal(await missing(), '0')
  rmSync(pathOf(objects[0]!.id))
  truncateSync(pathOf(objects[1]!.id), 5)
  await compare()
  t.equal(await missing(), '2')
  t.same(logs.filter(({ msg }) => msg === 'a stored file is missing or truncated').map(({ file }) => file).sort(),
    [objects[0]!.id, objects[1]!.id].sort())
  t.equal((await app.files.findByPrefix(app.db, 'documents', '')).length, 3)
})

t.test('no file is compared or removed when the files folder belongs to another database', async (t) => {
  const built = await server(t)
  const { app, compare, leave, pathOf } = built
  await t.test('nor before the first file is stored', async (t) => {
    const foreign = leave(randomUUID(), 25)
    await compare()
    t.equal(existsSync(foreign), true)
    rmSync(foreign)
  })
  await keep(built, Buffer.from('x'))
  const [row] = await app.sql<{ id: string }[]>`select id from file_store`
  rmSync(pathOf(row!.id))
  const foreign = leave(randomUUID(), 25)
  await compare()
  t.equal(existsSync(foreign), true)
})

const SCRIPT = fileURLToPath(new URL('../../../src/rotate-keys.ts', import.meta.url))

async function filled (t: Test, count: number) {
  const built = await build(t)
  const contents = new Map<string, Buffer>()
  for (let index = 0; index < count; index++) {
    const content = randomBytes(100)
    contents.set((await keep(built, content, `f/${index}`)).id, content)
  }
  return { ...built, contents }
}

async function rotate ({ url, masterKey }: TestApp) {
  const { db, sql, close } = connect(url, 1)
  try {
    return await rotateKeys({ db, sql }, createKeys(Buffer.from(masterKey, 'base64')))
  } finally {
    await close()
  }
}

/** Checks that every file can be read, and returns the ids of the generations. */
async function generationsOf (t: Test, { app, contents }: TestApp & { contents: Map<string, Buffer> }) {
  const objects = await app.files.findByPrefix(app.db, 'documents', '')
  t.equal(objects.length, contents.size)
  for (const object of objects) {
    const content = await buffer(await app.files.read(object))
    if (!content.equals(contents.get(object.id)!)) t.fail(object.name)
  }
  return (await app.sql<{ id: number }[]>`select id from storage_keys order by id`).map(({ id }) => id)
}

t.test('a rotation rewraps every key and deletes the earlier generation, and all files stay readable', async (t) => {
  const built = await filled(t, 5)
  const before = await built.app.files.findByPrefix(built.app.db, 'documents', '')
  t.same(await rotate(built), { rewrapped: 5, resumed: false, damaged: [] })
  t.same(await generationsOf(t, built), [2])
  const after = await built.app.files.findByPrefix(built.app.db, 'documents', '')
  for (const [index, { wrapped_key: wrapped }] of after.entries()) {
    t.notOk(wrapped.equals(before[index]!.wrapped_key))
  }
  t.ok((await buffer(await built.app.files.read(before[0]!))).equals(built.contents.get(before[0]!.id)!),
    'a reader who found the object before the rotation can read it')
})

t.test('an upload that begins before a rotation and ends after it is kept', async (t) => {
  const built = await filled(t, 1)
  const written = await built.app.files.write(Buffer.from('lento'), { ...PLACE, name: 'lento' }, 10)
  const copied = await built.app.files.copy(
    (await built.app.files.find(built.app.db, 'documents', 'f/0'))!,
    { bucket: 'documents', name: 'copia', owner: null }
  )
  await rotate(built)
  const [first] = [...built.contents.values()]
  for (const [file, content] of [[written, Buffer.from('lento')], [copied, first!]] as const) {
    const { id } = await built.app.db.transaction((tx) => built.app.files.keep(tx, file, { replace: true }))
    built.contents.set(id, content)
  }
  t.same(await generationsOf(t, built), [2])
})

t.test('the next rotation completes an interrupted one', async (t) => {
  const built = await filled(t, 3)
  await built.app.sql`insert into storage_keys (salt) values (${randomBytes(32)})`
  await keep(built, Buffer.from('x'), 'nuovo')
  built.contents.set((await built.app.files.find(built.app.db, 'documents', 'nuovo'))!.id, Buffer.from('x'))
  t.same(await rotate(built), { rewrapped: 3, resumed: true, damaged: [] })
  t.same(await generationsOf(t, built), [2])
})

t.test('a damaged key keeps its generation, and the rotation reports its object', async (t) => {
  const built = await filled(t, 3)
  const [object] = await built.app.files.findByPrefix(built.app.db, 'documents', 'f/1')
  await built.app.sql`update objects set wrapped_key = ${randomBytes(60)} where id = ${object!.id}`
  t.same(await rotate(built), { rewrapped: 2, resumed: false, damaged: [object!.id] })
  const rows = await built.app.sql`select id from storage_keys`
  t.equal(rows.length, 2)
  t.same(await rotate(built), { rewrapped: 2, resumed: false, damaged: [object!.id] }, 'the others are rotated again')
})

t.test('a rotation completes during uploads, replacements and deletions', async (t) => {
  const built = await filled(t, 20)
  const { app, contents } = built
  const over = new AbortController()
  const work = async (name: string) => {
    while (!over.signal.aborted) {
      const content = randomBytes(50)
      const before = await app.files.find(app.db, 'documents', name)
      const { id } = await keep(built, content, name)
      if (before) contents.delete(before.id)
      contents.set(id, content)
    }
  }
  const working = ['a', 'b', 'c'].map(work)
  for (let time = 0; time < 5; time++) await rotate(built)
  over.abort()
  await Promise.all(working)
  const [generation, ...others] = await generationsOf(t, built)
  t.ok(generation! >= 6)
  t.same(others, [])
})

t.test('npm run keys:rotate works next to a running server, one run at a time', async (t) => {
  const built = await filled(t, 2)
  const run = async (environ: Record<string, string> = {}) => {
    const env = {
      PATH: process.env.PATH,
      DATABASE_URL: built.url,
      MASTER_KEY: built.masterKey,
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...environ
    }
    const child = spawn(process.execPath, [SCRIPT], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const code = new Promise((resolve) => { child.on('exit', resolve) })
    return { out: await text(child.stdout), err: await text(child.stderr), code: await code }
  }
  t.same(await run(), { out: 'Rotazione: 2 file con la chiave nuova\n', err: '', code: 0 })
  t.same(await generationsOf(t, built), [2])
  const holder = connect(built.url, 1)
  await holder.sql`select pg_advisory_lock(168182)`
  t.match(await run(), { out: '', err: /un’altra rotazione è in corso/, code: 1 })
  await holder.close()
  const wrong = await run({ MASTER_KEY: Buffer.alloc(32, 9).toString('base64') })
  t.match(wrong, { out: '', err: /MASTER_KEY non è quella/, code: 1 })
  t.match(await run({ MASTER_KEY: '', DATA_DIR: '/nessuna' }), { err: /MASTER_KEY: manca/, code: 1 })
  t.match(await run({ DATABASE_URL: '', DATA_DIR: '/nessuna' }), { err: /nessun server ha i suoi dati/, code: 1 })
  t.same(await generationsOf(t, built), [2], 'with a wrong key or storage no rotation starts')
  t.match(await run(), { out: /Rotazione: 2 file/, code: 0 })
})
