import { createCipheriv } from 'node:crypto'
import { readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import t from 'tap'
import {
  HEADER_BYTES, newHeader, opened, openHeader, readContainer, sealed, writeContainer
} from '#src/operations/backup/container.ts'
import { section, sectionsOf } from '#src/operations/backup/sections.ts'
import { OperationError } from '#src/operations/errors.ts'
import { temporaryFolder } from '#test/helper.ts'

const refused = (work: Promise<unknown>) => work.then(() => false, (err: unknown) => err instanceof OperationError)
const PASSPHRASE = 'càlamo lontano vèneto'
const header = await newHeader(PASSPHRASE)
const { key } = header
const open_ = (bytes: Buffer) => buffer(Readable.from(opened(Readable.from([bytes]), bytes.length, key)))
const seal = (content: readonly Buffer[]) => buffer(Readable.from(sealed(Readable.from(content), key)))

t.test('a content comes back as it was sealed, whatever its pieces', async () => {
  await fc.assert(fc.asyncProperty(
    fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 12 }), fc.integer({ min: 0, max: 300_000 }),
    async (small, large) => {
      const content = [...small.map((each) => Buffer.from(each)), Buffer.alloc(large, 'abc')]
      const back = await open_(await seal(content))
      return back.equals(Buffer.concat(content))
    }
  ), { numRuns: 20 })
})

/** The same every time, and not to be compressed. */
const noise = createCipheriv('aes-256-ctr', Buffer.alloc(32), Buffer.alloc(16)).update(Buffer.alloc(180_000))
const whole = await seal([noise])

t.test('a file that was cut anywhere, or has more at its end, is refused', async (t) => {
  t.ok(whole.length > 64 * 1024, 'more than one chunk')
  await fc.assert(fc.asyncProperty(fc.integer({ min: 0, max: whole.length - 1 }), async (length) => {
    return await refused(open_(whole.subarray(0, length)))
  }), { numRuns: 25, examples: [[0], [15], [16], [17], [64 * 1024 + 16], [whole.length - 1]] })
  for (const more of [1, 16, 17, 64 * 1024 + 16]) {
    t.ok(await refused(open_(Buffer.concat([whole, Buffer.alloc(more)]))))
  }
})

t.test('a flipped bit anywhere is refused', async () => {
  await fc.assert(fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 7 }), async (at, bit) => {
    const flipped = Buffer.from(whole)
    flipped[at]! ^= 1 << bit
    return await refused(open_(flipped))
  }), { numRuns: 25, examples: [[0, 0], [whole.length - 1, 7]] })
})

t.test('a chunk that was moved, doubled or left out is refused', async (t) => {
  const size = 64 * 1024 + 16
  const [first, second] = [whole.subarray(0, size), whole.subarray(size, 2 * size)]
  const rest = whole.subarray(2 * size)
  for (const parts of [[second, first, rest], [first, first, rest], [first, rest], [first, second, second, rest]]) {
    t.ok(await refused(open_(Buffer.concat(parts))))
  }
})

t.test('another passphrase, and a flipped bit of the header, open nothing', async (t) => {
  await t.resolveMatch(openHeader(header.bytes, PASSPHRASE.normalize('NFD')), key, 'however a keyboard spells it')
  await t.rejects(openHeader(header.bytes, `${PASSPHRASE} `), /passphrase/)
  for (const at of [0, 15, 16, 47, 48, HEADER_BYTES - 1]) {
    const bytes = Buffer.from(header.bytes)
    bytes[at]! ^= 1
    t.ok(await refused(openHeader(bytes, PASSPHRASE)), String(at))
  }
  await t.rejects(openHeader(header.bytes.subarray(0, 30), PASSPHRASE), /non è un salvataggio/)
})

t.test('sections come back with their heads and bytes, also when the reader passes over some', async () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 700 }), { maxLength: 5 })
  const data = fc.array(fc.tuple(fc.string(), pieces, fc.boolean()))
  await fc.assert(fc.asyncProperty(data, fc.integer({ min: 1, max: 97 }), async (sections, cut) => {
    const bytes: Buffer[] = []
    for (const [name, pieces] of sections) {
      const content = Readable.from(pieces.map((each) => Buffer.from(each)))
      bytes.push(await buffer(section({ name }, content)))
    }
    const joined = Buffer.concat(bytes)
    const cuts = Array.from({ length: Math.ceil(joined.length / cut) }, (_, at) =>
      joined.subarray(at * cut, (at + 1) * cut))
    let n = 0
    for await (const { head, pieces } of sectionsOf<{ name: string }>(Readable.from(cuts))) {
      const [name, expected, isRead] = sections[n++]!
      if (head.name !== name) return false
      if (isRead && !(await buffer(pieces)).equals(Buffer.concat(expected))) return false
    }
    return n === sections.length
  }), { numRuns: 40 })
})

t.test('a file is there when all of it is on the disk, and its owner alone reads it', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'a.bak')
  await writeFile(`${file}.partial`, 'what a killed process has left')
  async function * broken () {
    yield noise
    // As a connection that is lost says it: nothing of the file.
    throw Object.assign(new Error('away'), { syscall: 'read', code: 'ECONNRESET' })
  }
  async function * refusing () {
    yield noise
    throw new OperationError('no')
  }
  await t.rejects(writeContainer(file, PASSPHRASE, broken()), { message: 'away' })
  await t.rejects(writeContainer(file, PASSPHRASE, refusing()), { message: 'no' })
  t.same(await readdir(folder), [], 'nothing stays of one that broke off')
  await (await writeContainer(file, PASSPHRASE, Readable.from([noise]))).settle()
  const unreadable = await writeContainer(file, PASSPHRASE, Readable.from([]))
  const refuse = () => Promise.reject(new OperationError('no'))
  const unlooked = unreadable.settle(refuse)
  await t.rejects(unlooked, { message: 'no' }, 'nor does one come into the place of another before it was looked at')
  t.same(await readdir(folder), ['a.bak'])
  t.equal((await stat(file)).mode & 0o777, 0o600)
  const back = await readContainer(file, PASSPHRASE, (content) => buffer(content))
  t.ok(back.equals(noise))
  t.notMatch(await readFile(file), noise.subarray(0, 64), 'nothing is in the clear')
  await t.rejects(readContainer(join(folder, 'b.bak'), PASSPHRASE, buffer), /non si può leggere \(ENOENT\)/)
  await t.rejects(writeContainer(join(folder, 'c', 'a.bak'), PASSPHRASE, Readable.from([])), /non si può scrivere/)
})
