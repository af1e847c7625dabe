import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import { until } from '#test/alloggiati/stand-in.ts'
import { build, type TestApp } from '#test/helper.ts'

export const PLACE = { bucket: 'documents', name: '1/0/front.jpg', contentType: 'image/jpeg', owner: null }

/** Stores content under a name. */
export async function keep ({ app }: Pick<TestApp, 'app'>, content: Buffer, name = PLACE.name, replace = true) {
  const written = await app.files.write(content, { ...PLACE, name }, 100_000_000)
  return app.db.transaction((tx) => app.files.keep(tx, written, { replace }))
}

/** Tests of the storage for any file backend. */
export async function storageRules (t: Test, environ: Record<string, string> = {}): Promise<void> {
  const built = await build(t, environ)
  const { app } = built
  const { db, files } = app
  const rm = (...names: string[]) => db.transaction(async (tx) => {
    for (const name of names) await files.discard(tx, await files.findByPrefix(tx, 'documents', name))
  })
  const discarded = async () => [...await app.sql`select id from discarded_files`]

  t.test('a kept file can be found and read, whole and in part', async (t) => {
    const content = randomBytes(300_000)
    const written = await files.write(content, PLACE, 1_000_000)
    t.equal(await files.find(db, 'documents', PLACE.name), undefined, 'it is not visible yet')
    const object = await db.transaction((tx) => files.keep(tx, written, { replace: false }))
    t.match(object, { size: 300_000, content_type: 'image/jpeg', owner: null, cache_control: null })
    t.same(await files.find(db, 'documents', PLACE.name), object)
    t.ok((await buffer(await files.read(object))).equals(content))
    const part = await buffer(await files.read(object, { start: 65_530, end: 200_000 }))
    t.ok(part.equals(content.subarray(65_530, 200_001)))
    await rm('1/0/')
  })

  t.test('an empty file can be stored', async (t) => {
    const object = await keep(built, Buffer.alloc(0))
    t.equal((await buffer(await files.read(object))).length, 0)
    await rm('1/0/')
  })

  t.test('a replaced file is removed, and a request that still reads it gets a retryable 503', async (t) => {
    const before = await keep(built, Buffer.from('vecchio'))
    t.equal(await codeOf(keep(built, Buffer.from('nuovo'), PLACE.name, false)), 'OGGETTO_ESISTENTE')
    t.equal(String(await buffer(await files.read(before))), 'vecchio')
    const after = await keep(built, Buffer.from('nuovo'))
    files.removeDiscarded()
    await until(async () => (await discarded()).length === 0)
    t.equal(await codeOf(files.read(before)), 'SERVIZIO_OCCUPATO')
    t.equal(String(await buffer(await files.read(after))), 'nuovo')
    await rm('1/0/')
    files.removeDiscarded()
    await until(async () => (await discarded()).length === 0)
    t.equal(await codeOf(files.read(after)), 'RISORSA_NON_TROVATA')
  })

  t.test('a file stays when the transaction that discards or replaces it rolls back', async (t) => {
    const object = await keep(built, Buffer.from('resta'))
    const written = await files.write(Buffer.from('mai'), PLACE, 100)
    await t.rejects(db.transaction(async (tx) => {
      await files.keep(tx, written, { replace: true })
      throw new Error('no')
    }))
    await t.rejects(db.transaction(async (tx) => {
      await files.discard(tx, [object])
      throw new Error('no')
    }))
    files.removeDiscarded()
    t.same(await files.find(db, 'documents', PLACE.name), object)
    t.equal(String(await buffer(await files.read(object))), 'resta')
    await rm('1/0/')
  })

  t.test('a moved file keeps its content, and a copy has its own', async (t) => {
    const object = await keep(built, Buffer.from('contenuto'))
    const to = { bucket: 'public', name: 'a/b' }
    const moved = await db.transaction((tx) => files.move(tx, object, to))
    t.match(moved, { id: object.id, bucket: 'public', name: 'a/b', created_at: object.created_at })
    t.equal(String(await buffer(await files.read(moved))), 'contenuto')
    const copied = await files.copy(moved, { bucket: 'public', name: 'a/c', owner: 'user:1' })
    const copy = await db.transaction((tx) => files.keep(tx, copied, { replace: false }))
    await db.transaction((tx) => files.discard(tx, [moved]))
    files.removeDiscarded()
    await until(async () => (await discarded()).length === 0)
    t.equal(String(await buffer(await files.read(copy))), 'contenuto')
    t.equal(await codeOf(db.transaction((tx) => files.move(tx, moved, to))), 'RISORSA_NON_TROVATA')
    await db.transaction((tx) => files.discard(tx, [copy]))
  })

  t.test('a file cannot be moved to the name of another one', async (t) => {
    const [one, two] = [await keep(built, Buffer.from('uno'), 'x/1'), await keep(built, Buffer.from('due'), 'x/2')]
    const to = { bucket: 'documents', name: 'x/2' }
    t.equal(await codeOf(db.transaction((tx) => files.move(tx, one, to))), 'OGGETTO_ESISTENTE')
    t.same((await files.findByPrefix(db, 'documents', 'x/')).map(({ id }) => id), [one.id, two.id])
    await rm('x/')
  })

  t.test('findByPrefix returns names in byte order, with any characters', async (t) => {
    const names = ['a%', 'a%/1', 'a/B', 'a/a', 'a/à', 'a_', 'ab', 'a\\', 'a"']
    for (const name of names) await keep(built, Buffer.from('x'), name)
    const found = async (prefix: string) =>
      (await files.findByPrefix(db, 'documents', prefix)).map(({ name }) => name)
    t.same(await found('a'), names.sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other))))
    t.same(await found('a%'), ['a%', 'a%/1'])
    t.same(await found('a_'), ['a_'])
    t.same(await found('a\\'), ['a\\'])
    await rm('a')
  })

  t.test('settle removes a file whose transaction fails, and keeps one that was already kept', async (t) => {
    const taken = await keep(built, Buffer.from('resta'))
    const written = await files.write(Buffer.from('mai'), PLACE, 100)
    t.equal(await codeOf(files.settle(written, () => db.transaction((tx) =>
      files.keep(tx, written, { replace: false })
    ))), 'OGGETTO_ESISTENTE')
    await until(async () => (await discarded()).length === 0)
    const unreadable = { ...taken, ...written }
    await t.rejects(files.copy(unreadable, { bucket: 'public', name: 'copia', owner: null }), 'the file is gone')
    await t.rejects(files.settle(taken, async () => { throw new Error('dopo') }), { message: 'dopo' })
    await until(async () => (await discarded()).length === 0)
    t.equal(String(await buffer(await files.read(taken))), 'resta')
    await rm('1/0/')
  })

  t.test('content beyond its limit is rejected', async (t) => {
    t.equal(await codeOf(files.write(randomBytes(101), PLACE, 100)), 'CONTENUTO_TROPPO_GRANDE')
    t.equal((await files.write(randomBytes(100), PLACE, 100)).size, 100)
  })

  t.test('a file for a missing bucket is rejected', async (t) => {
    const written = await files.write(Buffer.from('x'), { ...PLACE, bucket: 'nessuno' }, 100)
    t.equal(await codeOf(db.transaction((tx) => files.keep(tx, written, { replace: true }))), 'BUCKET_NON_TROVATO')
  })

  t.test('one of several concurrent files with the same name stays, and the others are discarded', async (t) => {
    await Promise.all(Array.from({ length: 8 }, (_, index) => keep(built, Buffer.from(`n. ${index}`), 'gara')))
    const rows = await files.findByPrefix(db, 'documents', 'gara')
    t.equal(rows.length, 1)
    t.match(String(await buffer(await files.read(rows[0]!))), /^n\. \d$/)
    t.equal((await discarded()).length >= 7, true)
    files.removeDiscarded()
    await until(async () => (await discarded()).length === 0)
    await rm('gara')
  })

  t.test('a reader that stops early closes the stream of the file', async (t) => {
    const object = await keep(built, randomBytes(10_000_000))
    for (let time = 0; time < 5; time++) {
      const stream = await files.read(object)
      for await (const piece of stream) if (piece) break
      t.equal(stream.destroyed, true)
    }
    const content = await files.read(object)
    content.destroy()
    await until(async () => content.closed)
    await rm('1/0/')
  })
}

/** The error code of a failing promise. Undefined if it succeeds. */
export async function codeOf (work: Promise<unknown>): Promise<string | undefined> {
  try {
    await work
    return undefined
  } catch (err) {
    return String((err as { code?: unknown }).code ?? err)
  }
}
