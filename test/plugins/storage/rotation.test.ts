import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { createKeys } from '#src/lib/secrets.ts'
import { connect } from '#src/plugins/database/connect.ts'
import { rotateKeys } from '#src/plugins/storage/rotation.ts'
import { build, type TestApp } from '#test/helper.ts'
import { COMPILE_CACHE } from '#test/setup/processes.ts'
import { keep, PLACE } from './storage-rules.ts'

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

/** Every file reads back; the generations that there are. */
async function generationsOf (t: Test, { app, contents }: TestApp & { contents: Map<string, Buffer> }) {
  const objects = await app.storage.findByPrefix(app.db, 'documents', '')
  t.equal(objects.length, contents.size)
  for (const object of objects) {
    const content = await buffer(await app.storage.read(object))
    if (!content.equals(contents.get(object.id)!)) t.fail(object.name)
  }
  return (await app.sql<{ id: number }[]>`select id from storage_keys order by id`).map(({ id }) => id)
}

t.test('after a rotation every key is wrapped anew, the earlier generation is gone, all files read', async (t) => {
  const built = await filled(t, 5)
  const before = await built.app.storage.findByPrefix(built.app.db, 'documents', '')
  t.same(await rotate(built), { rewrapped: 5, resumed: false, damaged: [] })
  t.same(await generationsOf(t, built), [2])
  const after = await built.app.storage.findByPrefix(built.app.db, 'documents', '')
  for (const [index, { wrapped_key: wrapped }] of after.entries()) {
    t.notOk(wrapped.equals(before[index]!.wrapped_key))
  }
  t.ok((await buffer(await built.app.storage.read(before[0]!))).equals(built.contents.get(before[0]!.id)!),
    'also who found the object before the rotation reads it')
})

t.test('an upload that began before a rotation and ends after it is kept', async (t) => {
  const built = await filled(t, 1)
  const written = await built.app.storage.write(Buffer.from('lento'), { ...PLACE, name: 'lento' }, 10)
  const copied = await built.app.storage.copy(
    (await built.app.storage.find(built.app.db, 'documents', 'f/0'))!,
    { bucket: 'documents', name: 'copia', owner: null }
  )
  await rotate(built)
  const [first] = [...built.contents.values()]
  for (const [file, content] of [[written, Buffer.from('lento')], [copied, first!]] as const) {
    const { id } = await built.app.db.transaction((tx) => built.app.storage.keep(tx, file, { replace: true }))
    built.contents.set(id, content)
  }
  t.same(await generationsOf(t, built), [2])
})

t.test('a rotation that was broken off is finished by the next one', async (t) => {
  const built = await filled(t, 3)
  await built.app.sql`insert into storage_keys (salt) values (${randomBytes(32)})`
  await keep(built, Buffer.from('x'), 'nuovo')
  built.contents.set((await built.app.storage.find(built.app.db, 'documents', 'nuovo'))!.id, Buffer.from('x'))
  t.same(await rotate(built), { rewrapped: 3, resumed: true, damaged: [] })
  t.same(await generationsOf(t, built), [2])
})

t.test('a damaged key keeps its generation, and the rotation says of which object', async (t) => {
  const built = await filled(t, 3)
  const [object] = await built.app.storage.findByPrefix(built.app.db, 'documents', 'f/1')
  await built.app.sql`update objects set wrapped_key = ${randomBytes(60)} where id = ${object!.id}`
  t.same(await rotate(built), { rewrapped: 2, resumed: false, damaged: [object!.id] })
  const rows = await built.app.sql`select id from storage_keys`
  t.equal(rows.length, 2)
  t.same(await rotate(built), { rewrapped: 2, resumed: false, damaged: [object!.id] }, 'the others are rotated again')
})

t.test('beside uploads, replacements and deletions a rotation comes to its end', async (t) => {
  const built = await filled(t, 20)
  const { app, contents } = built
  const over = new AbortController()
  const work = async (name: string) => {
    while (!over.signal.aborted) {
      const content = randomBytes(50)
      const before = await app.storage.find(app.db, 'documents', name)
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

t.test('the command rotates beside a running server, and one at a time', async (t) => {
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
  t.same(await generationsOf(t, built), [2], 'with a wrong key, or in a wrong place, nothing was begun')
  t.match(await run(), { out: /Rotazione: 2 file/, code: 0 })
})
