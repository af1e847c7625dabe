import { createCipheriv, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import {
  ChangedFileError,
  CHUNK_BYTES,
  decrypt,
  encrypt,
  encryptedRange,
  encryptedSize,
  TAG_BYTES
} from '#src/plugins/storage/encryption.ts'
import type { ByteRange } from '#src/plugins/storage/storage.ts'
import { pieces } from './backend-rules.ts'

const STORED = CHUNK_BYTES + TAG_BYTES
const key = randomBytes(32)

async function all (bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of bytes) parts.push(part)
  return Buffer.concat(parts)
}

const encrypted = (content: Buffer, withKey = key, length = 50_000) => all(encrypt(pieces(content, length), withKey))
const decrypted = (file: Buffer, size: number, range?: ByteRange, withKey = key, length = 50_000) => {
  const part = range ? encryptedRange(size, range) : { start: 0, end: file.length - 1 }
  return all(decrypt(pieces(file.subarray(part.start, part.end + 1), length), withKey, size, range))
}

const refused = (work: Promise<Buffer>) => work.then(() => false, (err: unknown) => err instanceof ChangedFileError)

/** Around the ends of chunks, where one byte more or less makes another file; eight are worked on in one go. */
const ENDS = [0, 1, 2, 3, 8].flatMap((chunks) => [-2, -1, 0, 1, 2].map((more) => chunks * CHUNK_BYTES + more))
  .filter((size) => size >= 0)
const size = fc.oneof(fc.constantFrom(...ENDS), fc.integer({ min: 0, max: 4 * CHUNK_BYTES }))

t.test('a content of any size, in pieces of any length, is the same again', async (t) => {
  const length = fc.integer({ min: 1000, max: 3 * STORED })
  await fc.assert(fc.asyncProperty(size, length, length, async (size, writing, reading) => {
    const content = randomBytes(size)
    const file = await encrypted(content, key, writing)
    return file.length === encryptedSize(size) &&
      (await decrypted(file, size, undefined, key, reading)).equals(content)
  }), { examples: ENDS.map((size) => [size, 50_000, STORED] as [number, number, number]), numRuns: 150 })
  t.pass()
})

t.test('every range is read by itself', async (t) => {
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

t.test('a file with any bit flipped is refused, and nothing of its chunk is given out', async (t) => {
  const content = randomBytes(2 * CHUNK_BYTES + 100)
  const file = await encrypted(content)
  const bit = fc.oneof(
    fc.nat(file.length * 8 - 1),
    // The first and last bytes of chunks, and their tags.
    fc.constantFrom(0, STORED, 2 * STORED).chain((start) => fc.integer({ min: 0, max: 8 * TAG_BYTES - 1 })
      .map((bit) => Math.max(start * 8 - 64 + bit, 0)))
  )
  await fc.assert(fc.asyncProperty(bit, async (bit) => {
    const changed = Buffer.from(file)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    const given: Buffer[] = []
    const error = await (async () => {
      for await (const part of decrypt(pieces(changed), key, content.length)) given.push(part)
    })().catch((err: unknown) => err)
    return error instanceof ChangedFileError &&
      Buffer.concat(given).equals(content.subarray(0, Math.floor((bit >> 3) / STORED) * CHUNK_BYTES))
  }), { numRuns: 300 })
  t.pass()
})

t.test('a file that is cut or continued anywhere is refused, whatever its row says of the size', async (t) => {
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

t.test('chunks that have changed places, or are another file\'s, are refused', async (t) => {
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

t.test('files are in the form that the description says, which does not change', async (t) => {
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
  // From another implementation.
  const text = '7c27da015a2483ac5faf4e31130265e93766231c9345c2'
  t.equal((await encrypted(Buffer.from('Locanda'), known)).toString('hex'), text)
  t.equal((await encrypted(Buffer.alloc(0), known)).toString('hex'), '7049470ab6b7fc76f592920b1365a71d')
})
