import { randomBytes, randomUUID } from 'node:crypto'
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { build } from '#test/helper.ts'
import { codeOf } from './failures.ts'
import { keep, PLACE } from './storage-rules.ts'

async function twoFiles (t: Test) {
  const built = await build(t)
  const { app, dataDir } = built
  const contents = [randomBytes(200_000), randomBytes(200_000)] as const
  const objects = [await keep(built, contents[0], 'uno'), await keep(built, contents[1], 'due')] as const
  const paths = objects.map(({ id }) => join(dataDir, 'files', id.slice(0, 2), id)) as [string, string]
  const read = async (index: 0 | 1) => {
    const object = await app.storage.find(app.db, 'documents', objects[index].name)
    return buffer(await app.storage.read(object!))
  }
  return { ...built, contents, objects, paths, read }
}

t.test('nothing of a content, a name or an owner is readable in the folder of the files', async (t) => {
  const built = await build(t)
  const canary = 'CANARINO-DEL-DOCUMENTO-0123456789'
  const object = await keep(built, Buffer.from(canary.repeat(5000)), canary)
  const root = join(built.dataDir, 'files')
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' })
  const empty = names.filter((name) => name.length > 2)
  t.equal(empty.length, 2, 'the file, and the empty one of the place')
  t.ok(names.includes(`${object.id.slice(0, 2)}/${object.id}`))
  for (const name of empty) t.equal(readFileSync(join(root, name)).includes(canary.slice(0, 8)), false)
  t.notMatch(names.join(), /CANARINO/)
  t.notMatch(JSON.stringify(built.logs), /CANARINO/)
})

t.test('a file of which a byte was changed at its beginning is a 500, later it breaks the answer off', async (t) => {
  const { paths, contents, objects, app, read, logs } = await twoFiles(t)
  const file = readFileSync(paths[0])
  for (const position of [0, 65_535, 65_536, 65_551]) {
    const changed = Buffer.from(file)
    changed[position]! ^= 1
    writeFileSync(paths[0], changed)
    t.equal(await codeOf(app.storage.read(objects[0])), 'FILE_ILLEGGIBILE', String(position))
  }
  for (const position of [65_552, 131_000, file.length - 1]) {
    const changed = Buffer.from(file)
    changed[position]! ^= 1
    writeFileSync(paths[0], changed)
    const parts: Buffer[] = []
    const stream = await app.storage.read(objects[0])
    t.equal(await codeOf((async () => { for await (const part of stream) parts.push(part as Buffer) })()),
      'FILE_ILLEGGIBILE', String(position))
    t.ok(contents[0].subarray(0, 65_536).equals(Buffer.concat(parts).subarray(0, 65_536)), 'what came before is right')
  }
  t.ok(logs.some(({ msg, object }) => msg === 'a stored file is damaged or missing' && object === objects[0].id))
  writeFileSync(paths[0], file)
  t.ok((await read(0)).equals(contents[0]))
})

t.test('files that have changed places are refused, both', async (t) => {
  const { paths, read } = await twoFiles(t)
  renameSync(paths[0], `${paths[0]}.x`)
  renameSync(paths[1], paths[0])
  renameSync(`${paths[0]}.x`, paths[1])
  t.equal(await codeOf(read(0)), 'FILE_ILLEGGIBILE')
  t.equal(await codeOf(read(1)), 'FILE_ILLEGGIBILE')
})

t.test('a file that was cut, lengthened, emptied, removed or replaced by a link is refused at once', async (t) => {
  const { paths, app, objects } = await twoFiles(t)
  const file = readFileSync(paths[0])
  const isRefused = async (what: string) => {
    t.equal(await codeOf(app.storage.read(objects[0])), 'FILE_ILLEGGIBILE', what)
  }
  for (const length of [0, 16, 65_552, file.length - 1]) {
    writeFileSync(paths[0], file.subarray(0, length))
    await isRefused(`cut to ${length}`)
  }
  writeFileSync(paths[0], Buffer.concat([file, Buffer.alloc(1)]))
  await isRefused('lengthened')
  unlinkSync(paths[0])
  await isRefused('removed')
  copyFileSync(paths[1], `${paths[1]}.x`)
  symlinkSync(`${paths[1]}.x`, paths[0])
  t.equal(await codeOf(app.storage.read(objects[0])), 'ARCHIVIO_NON_DISPONIBILE', 'a link')
})

t.test('a row that was given another bucket, owner, id, key or generation opens nothing', async (t) => {
  const { app, objects, paths } = await twoFiles(t)
  const id = randomUUID()
  const other = join(paths[0], '..', '..', id.slice(0, 2))
  const { sql } = app
  const changes = [
    () => sql`update objects set bucket = 'public' where id = ${objects[0].id}`,
    () => sql`update objects set bucket = 'documents', owner = 'user:1' where id = ${objects[0].id}`,
    () => sql`update objects set owner = null, wrapped_key = ${objects[1].wrapped_key} where id = ${objects[0].id}`,
    () => sql`with salt as (insert into storage_keys (salt) values ('x') returning id) update objects
      set wrapped_key = ${objects[0].wrapped_key}, key_id = salt.id from salt where objects.id = ${objects[0].id}`
  ]
  for (const [index, change] of changes.entries()) {
    await change()
    const [bucket] = await sql<{ bucket: string }[]>`select bucket from objects where id = ${objects[0].id}`
    const found = await app.storage.find(app.db, bucket!.bucket, 'uno')
    t.equal(await codeOf(app.storage.read(found!)), 'FILE_ILLEGGIBILE', `change ${index}`)
  }
  await sql`update objects set key_id = ${objects[0].key_id}, id = ${id} where id = ${objects[0].id}`
  mkdirSync(other, { recursive: true })
  copyFileSync(paths[0], join(other, id))
  const found = await app.storage.find(app.db, 'documents', 'uno')
  t.equal(await codeOf(app.storage.read(found!)), 'FILE_ILLEGGIBILE', 'id')
  t.equal(await codeOf(app.storage.read({ ...objects[1], size: objects[1].size - 1 })), 'FILE_ILLEGGIBILE', 'size')
})

t.test('a row with its key given back by a backup reads its file, and without the row nothing does', async (t) => {
  const { app, objects, read, contents } = await twoFiles(t)
  const [row] = await app.sql`select * from objects where id = ${objects[0].id}`
  await app.sql`delete from objects where id = ${objects[0].id}`
  t.equal(await app.storage.find(app.db, PLACE.bucket, 'uno'), undefined)
  await app.sql`insert into objects ${app.sql({ ...row })}`
  t.ok((await read(0)).equals(contents[0]))
})
