import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { build } from '#test/helper.ts'
import { keep, PLACE } from './storage-rules.ts'

const HOUR_MS = 60 * 60_000

async function server (t: Test, options?: Parameters<typeof build>[3]) {
  const built = await build(t, {}, undefined, options)
  const { app, dataDir } = built
  const pathOf = (id: string) => join(dataDir, 'files', id.slice(0, 2), id)
  const compare = async () => {
    const run = await app.jobs.start('stored-files', async () => {})
    if (typeof run === 'object') await run.ended
  }
  /** A file that was last written so many hours ago. */
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

/** What cannot be removed. */
const FAULTY = `00${randomUUID().slice(2)}`
/** For tests that leave nothing of which another one takes notice. */
const shared = await server(t, {
  wrapBackend: (backend) => ({
    ...backend,
    delete: async (id) => {
      if (id === FAULTY) throw Object.assign(new Error('EACCES: unlink'), { code: 'EACCES' })
      await backend.delete(id)
    }
  })
})

t.test('what no row names for a day is removed, and nothing else', async (t) => {
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
  t.equal(String(await buffer(await app.storage.read(object))), 'resta')
  t.ok(built.logs.some(({ msg, removed }) => msg === 'files that no row names were removed' && removed === 3))
})

t.test('a file that cannot be removed does not keep the others, nor the count of what is missing', async (t) => {
  const built = shared
  const { app, compare, leave, pathOf } = built
  const object = await keep(built, Buffer.from('manca'))
  rmSync(pathOf(object.id))
  const paths = [leave(FAULTY, 25), leave(`ff${randomUUID().slice(2)}`, 25)]
  await compare()
  t.same(paths.map(existsSync), [true, false])
  t.match([...await app.sql`select missing from file_store`], [{ missing: 1 }])
  t.ok(built.logs.some((line) => line.object === FAULTY && line.level === 50))
  rmSync(pathOf(FAULTY))
  await app.db.transaction((tx) => app.storage.discard(tx, [object]))
})

t.test('an upload that is under way is not disturbed', async (t) => {
  const built = shared
  await keep(built, Buffer.from('x'))
  const written = await built.app.storage.write(Buffer.from('y'), PLACE, 10)
  await built.compare()
  const object = await built.app.db.transaction((tx) => built.app.storage.keep(tx, written, { replace: true }))
  t.equal(String(await buffer(await built.app.storage.read(object))), 'y')
})

t.test('rows whose file is missing or cut are counted and logged, and stay', async (t) => {
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
  t.same(logs.filter(({ msg }) => msg === 'a stored file is missing or cut').map(({ object }) => object).sort(),
    [objects[0]!.id, objects[1]!.id].sort())
  t.equal((await app.storage.findByPrefix(app.db, 'documents', '')).length, 3)
})

t.test('in a place that is not the one of the database nothing is compared and nothing removed', async (t) => {
  const built = await server(t)
  const { app, compare, leave, pathOf } = built
  await t.test('before the first file', async (t) => {
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
