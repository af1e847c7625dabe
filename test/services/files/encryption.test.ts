import { createCipheriv, randomBytes, randomUUID } from 'node:crypto'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import t from 'tap'
import { createKeys } from '#src/lib/secrets.ts'
import {
  ChangedFileError, CHUNK_BYTES, decrypt, encrypt, encryptedRange, encryptedSize, TAG_BYTES
} from '#src/services/files/encryption.ts'
import type { ByteRange } from '#src/lib/ranges.ts'
import { unwrap, wrap, wrappingKey, WrongKeyError } from '#src/services/files/key-wrapping.ts'
import { build } from '#test/helper.ts'
import { pieces } from './backend-rules.ts'
import { codeOf, keep } from './file-service-rules.ts'

const STORED = CHUNK_BYTES + TAG_BYTES
const fileKey = randomBytes(32)

async function all (bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of bytes) parts.push(part)
  return Buffer.concat(parts)
}

const encrypted = (content: Buffer, withKey = fileKey, length = 50_000) =>
  all(encrypt(pieces(content, length), withKey))

const decrypted = (file: Buffer, size: number, range?: ByteRange, withKey = fileKey, length = 50_000) => {
  const part = range ? encryptedRange(size, range) : { start: 0, end: file.length - 1 }
  return all(decrypt(pieces(file.subarray(part.start, part.end + 1), length), withKey, size, range))
}

const refused = (work: Promise<Buffer>) => work.then(() => false, (err: unknown) => err instanceof ChangedFileError)

/** Sizes around chunk boundaries. Eight chunks are processed together. */
const ENDS = [0, 1, 2, 3, 8].flatMap((chunks) => [-2, -1, 0, 1, 2].map((more) => chunks * CHUNK_BYTES + more))
  .filter((size) => size >= 0)

const size = fc.oneof(fc.constantFrom(...ENDS), fc.integer({ min: 0, max: 4 * CHUNK_BYTES }))

const built = await build(t)
const { app, dataDir, logs } = built

t.test('content of any size, in chunks of any length, is restored by decryption', async (t) => {
  const length = fc.integer({ min: 1000, max: 3 * STORED })
  await fc.assert(fc.asyncProperty(size, length, length, async (size, writing, reading) => {
    const content = randomBytes(size)
    const file = await encrypted(content, fileKey, writing)
    return file.length === encryptedSize(size) &&
      (await decrypted(file, size, undefined, fileKey, reading)).equals(content)
  }), { examples: ENDS.map((size) => [size, 50_000, STORED] as [number, number, number]), numRuns: 150 })
  t.pass()
})

t.test('every range can be decrypted by itself', async (t) => {
  const range = size.filter((size) => size > 0).chain((size) => fc.tuple(
    fc.constant(size),
    fc.oneof(fc.nat(size - 1), fc.constantFrom(...ENDS.filter((each) => each < size))),
    fc.oneof(fc.nat(size - 1), fc.constantFrom(...ENDS.filter((each) => each < size)))
  ))
  await fc.assert(fc.asyncProperty(range, async ([size, one, other]) => {
    const content = randomBytes(size)
    const [start, end] = [Math.min(one, other), Math.max(one, other)]
    const part = await decrypted(await encrypted(content), size, { start, end })
    return part.equals(content.subarray(start, end + 1))
  }), { numRuns: 150 })
  t.pass()
})

t.test('a file with any flipped bit is rejected, and no byte of that chunk is yielded', async (t) => {
  const content = randomBytes(2 * CHUNK_BYTES + 100)
  const file = await encrypted(content)
  const bit = fc.oneof(
    fc.nat(file.length * 8 - 1),
    // First and last bytes of chunks, and their tags.
    fc.constantFrom(0, STORED, 2 * STORED).chain((start) => fc.integer({ min: 0, max: 8 * TAG_BYTES - 1 })
      .map((bit) => Math.max(start * 8 - 64 + bit, 0)))
  )
  await fc.assert(fc.asyncProperty(bit, async (bit) => {
    const changed = Buffer.from(file)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    const given: Buffer[] = []
    const error = await (async () => {
      for await (const part of decrypt(pieces(changed), fileKey, content.length)) given.push(part)
    })().catch((err: unknown) => err)
    return error instanceof ChangedFileError &&
      Buffer.concat(given).equals(content.subarray(0, Math.floor((bit >> 3) / STORED) * CHUNK_BYTES))
  }), { numRuns: 300 })
  t.pass()
})

t.test('a file that was cut or extended is rejected, with any size in its row', async (t) => {
  const content = randomBytes(2 * CHUNK_BYTES + 100)
  const file = await encrypted(content)
  for (const length of [0, 1, 15, 16, 17, STORED - 1, STORED, STORED + 1, STORED + 16, 2 * STORED, file.length - 1]) {
    const cut = file.subarray(0, length)
    t.ok(await refused(decrypted(cut, content.length)), `cut to ${length}`)
    const chunks = Math.ceil(length / STORED)
    const size = length - chunks * TAG_BYTES
    if (size >= 0 && encryptedSize(size) === length) t.ok(await refused(decrypted(cut, size)), `as if of ${size} bytes`)
  }
  for (const more of [1, 16, 17, STORED]) {
    const longer = Buffer.concat([file, file.subarray(0, more)])
    t.ok(await refused(decrypted(longer, content.length)), `${more} more`)
    t.ok(await refused(decrypted(longer, content.length + more)), `${more} more, and the row says so`)
  }
  const full = randomBytes(CHUNK_BYTES)
  const withEmpty = Buffer.concat([await encrypted(full), await encrypted(Buffer.alloc(0))])
  t.ok(await refused(decrypted(withEmpty, CHUNK_BYTES)), 'an empty chunk at the end')
})

t.test('chunks that were reordered or belong to another file are rejected', async (t) => {
  const content = randomBytes(3 * CHUNK_BYTES)
  const file = await encrypted(content)
  const chunk = (index: number, from = file) => from.subarray(index * STORED, (index + 1) * STORED)
  for (const order of [[1, 0, 2], [0, 2, 1], [2, 1, 0], [0, 0, 2], [0, 1, 1]]) {
    t.ok(await refused(decrypted(Buffer.concat(order.map((index) => chunk(index))), content.length)), String(order))
  }
  const other = await encrypted(randomBytes(3 * CHUNK_BYTES), randomBytes(32))
  t.ok(await refused(decrypted(Buffer.concat([chunk(0), chunk(1, other), chunk(2)]), content.length)))
  t.ok(await refused(decrypted(other, content.length)))
})

t.test('the file format matches its description and does not change', async (t) => {
  const known = Buffer.alloc(32, 7)
  const content = Buffer.alloc(CHUNK_BYTES + 5, 'a')
  const chunk = (part: Buffer, nonce: string) => {
    const cipher = createCipheriv('aes-256-gcm', known, Buffer.from(nonce, 'hex'))
    return Buffer.concat([cipher.update(part), cipher.final(), cipher.getAuthTag()])
  }
  const expected = Buffer.concat([
    chunk(content.subarray(0, CHUNK_BYTES), '000000000000000000000000'),
    chunk(content.subarray(CHUNK_BYTES), '000000000000000000000101')
  ])
  t.ok((await encrypted(content, known)).equals(expected))
  // Another implementation has computed this.
  const text = '7c27da015a2483ac5faf4e31130265e93766231c9345c2'
  t.equal((await encrypted(Buffer.from('Locanda'), known)).toString('hex'), text)
  t.equal((await encrypted(Buffer.alloc(0), known)).toString('hex'), '7049470ab6b7fc76f592920b1365a71d')
})

const key = randomBytes(32)
const wrapping = randomBytes(32)
const binding = { bucket: 'documents', id: randomUUID(), owner: 'user:1' }
const wrapped = wrap(key, wrapping, binding)

function isRefused (text: Buffer, withKey = wrapping, to: Parameters<typeof unwrap>[2] = binding): boolean {
  try {
    unwrap(text, withKey, to)
    return false
  } catch (err) {
    return err instanceof WrongKeyError
  }
}

t.test('a wrapped key can be unwrapped, and wrapping it again gives another result', async (t) => {
  t.ok(unwrap(wrapped, wrapping, binding).equals(key))
  t.notOk(wrap(key, wrapping, binding).equals(wrapped))
})

t.test('a wrapped key with any flipped bit is rejected', async (t) => {
  for (let bit = 0; bit < wrapped.length * 8; bit++) {
    const changed = Buffer.from(wrapped)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    if (!isRefused(changed)) t.fail(`bit ${bit}`)
  }
  t.pass()
})

t.test('a truncated or extended wrapped key is rejected', async (t) => {
  for (let length = 0; length < wrapped.length; length++) {
    if (!isRefused(wrapped.subarray(0, length))) t.fail(`${length} bytes`)
  }
  t.ok(isRefused(Buffer.concat([wrapped, Buffer.alloc(1)])))
})

t.test('a wrapped key is rejected for another bucket, object, owner or generation', async (t) => {
  t.ok(isRefused(wrapped, randomBytes(32)))
  await fc.assert(fc.property(fc.string(), fc.option(fc.string()), (bucket, owner) => {
    const isOwn = bucket === binding.bucket && owner === binding.owner
    return isOwn || isRefused(wrapped, wrapping, { ...binding, bucket, owner })
  }))
  t.ok(isRefused(wrapped, wrapping, { ...binding, id: randomUUID() }))
  const nobody = { ...binding, owner: null }
  t.ok(isRefused(wrap(key, wrapping, nobody), wrapping, { ...binding, owner: '' }))
  t.ok(isRefused(wrap(key, wrapping, { ...binding, owner: 'null' }), wrapping, nobody))
})

t.test('the wrapping key depends on master key and salt, and its derivation does not change', async (t) => {
  const secret = (byte: number) => createKeys(Buffer.alloc(32, byte)).derive('storage')
  const salt = Buffer.alloc(32, 2)
  // Another implementation has computed this.
  const expected = 'ea20b750d96919d38c5fdd2cb6018dad299de0c1c1cfdf441565042059cceabe'
  t.equal(wrappingKey(secret(1), salt).toString('hex'), expected)
  t.notOk(wrappingKey(secret(1), salt).equals(wrappingKey(secret(3), salt)))
  t.notOk(wrappingKey(secret(1), salt).equals(wrappingKey(secret(1), Buffer.alloc(32, 4))))
})

/** Two files for one test. */
async function twoFiles (test: string) {
  const contents = [randomBytes(200_000), randomBytes(200_000)] as const
  const objects = [await keep(built, contents[0], `${test}/1`), await keep(built, contents[1], `${test}/2`)] as const
  const paths = objects.map(({ id }) => join(dataDir, 'files', id.slice(0, 2), id)) as [string, string]
  const read = async (index: 0 | 1) => {
    const object = await app.files.find(app.db, 'documents', objects[index].name)
    return buffer(await app.files.read(object!))
  }
  return { contents, objects, paths, read }
}

t.test('the files folder reveals no content or name', async (t) => {
  const canary = 'CANARINO-DEL-DOCUMENTO-0123456789'
  const object = await keep(built, Buffer.from(canary.repeat(5000)), canary)
  const root = join(dataDir, 'files')
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' })
  const stored = names.filter((name) => name.length > 2)
  t.equal(stored.length, 2, 'the file and the empty marker file')
  t.ok(names.includes(`${object.id.slice(0, 2)}/${object.id}`))
  for (const name of stored) t.equal(readFileSync(join(root, name)).includes(canary.slice(0, 8)), false)
  t.notMatch(names.join(), /CANARINO/)
  t.notMatch(JSON.stringify(logs), /CANARINO/)
})

t.test("a change in a file's first chunk is rejected at once, and a later one after earlier chunks", async (t) => {
  const { paths, contents, objects, read } = await twoFiles('changed')
  const file = readFileSync(paths[0])
  for (const position of [0, 65_535, 65_536, 65_551]) {
    const changed = Buffer.from(file)
    changed[position]! ^= 1
    writeFileSync(paths[0], changed)
    t.equal(await codeOf(app.files.read(objects[0])), 'FILE_ILLEGGIBILE', String(position))
  }
  for (const position of [65_552, 131_000, file.length - 1]) {
    const changed = Buffer.from(file)
    changed[position]! ^= 1
    writeFileSync(paths[0], changed)
    const parts: Buffer[] = []
    const stream = await app.files.read(objects[0])
    t.equal(await codeOf((async () => { for await (const part of stream) parts.push(part as Buffer) })()),
      'FILE_ILLEGGIBILE', String(position))
    t.ok(contents[0].subarray(0, 65_536).equals(Buffer.concat(parts).subarray(0, 65_536)), 'earlier chunks are right')
  }
  t.ok(logs.some(({ msg, file }) => msg === 'a stored file is damaged or missing' && file === objects[0].id))
  writeFileSync(paths[0], file)
  t.ok((await read(0)).equals(contents[0]))
})

t.test('a file that was truncated, extended, emptied, deleted or replaced by a link is rejected at once', async (t) => {
  const { paths, objects } = await twoFiles('cut')
  const file = readFileSync(paths[0])
  const assertRefused = async (change: string) => {
    t.equal(await codeOf(app.files.read(objects[0])), 'FILE_ILLEGGIBILE', change)
  }
  for (const length of [0, 16, 65_552, file.length - 1]) {
    writeFileSync(paths[0], file.subarray(0, length))
    await assertRefused(`cut to ${length}`)
  }
  writeFileSync(paths[0], Buffer.concat([file, Buffer.alloc(1)]))
  await assertRefused('lengthened')
  unlinkSync(paths[0])
  await assertRefused('removed')
  copyFileSync(paths[1], `${paths[1]}.x`)
  symlinkSync(`${paths[1]}.x`, paths[0])
  t.equal(await codeOf(app.files.read(objects[0])), 'ARCHIVIO_NON_DISPONIBILE', 'a symbolic link')
})

t.test('a row with another bucket, owner, id, key or generation cannot be read', async (t) => {
  const { objects, paths } = await twoFiles('row')
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
    const found = await app.files.find(app.db, bucket!.bucket, objects[0].name)
    t.equal(await codeOf(app.files.read(found!)), 'FILE_ILLEGGIBILE', `change ${index}`)
  }
  await sql`update objects set key_id = ${objects[0].key_id}, id = ${id} where id = ${objects[0].id}`
  mkdirSync(other, { recursive: true })
  copyFileSync(paths[0], join(other, id))
  const found = await app.files.find(app.db, 'documents', objects[0].name)
  t.equal(await codeOf(app.files.read(found!)), 'FILE_ILLEGGIBILE', 'id')
  t.equal(await codeOf(app.files.read({ ...objects[1], size: objects[1].size - 1 })), 'FILE_ILLEGGIBILE', 'size')
})
