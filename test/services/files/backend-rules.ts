import { randomBytes, randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import type { Backend } from '#src/services/files/backends/backend.ts'

/** Chunks that end normally or with a failure. */
export async function * pieces (content: Buffer, length = 50_000, failure?: Error): AsyncGenerator<Buffer> {
  for (let start = 0; start < content.length; start += length) yield content.subarray(start, start + length)
  if (failure) throw failure
}

/** All bytes, copied, because each chunk overwrites the one before. */
async function copied (pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const copies: Buffer[] = []
  for await (const piece of pieces) copies.push(Buffer.from(piece))
  return Buffer.concat(copies)
}

async function idsIn (backend: Backend, folder?: string): Promise<string[]> {
  const found: string[] = []
  for await (const { id } of backend.list(folder)) found.push(id)
  return found.sort()
}

/** Tests that every file backend must pass. */
export function backendRules (t: Test, backend: Backend): void {
  const put = async (content: Buffer) => {
    const id = randomUUID()
    await backend.put(id, pieces(content))
    return id
  }
  const get = async (id: string, range?: { start: number, end: number }) => {
    const opened = await backend.get(id, range)
    if (!opened) return undefined
    try {
      return { size: opened.size, content: await copied(opened.content) }
    } finally {
      opened.close()
    }
  }

  t.test('files of any size can be read, whole and in part', async (t) => {
    // An S3 server gets 6 MB in several parts.
    for (const size of [0, 1, 65_552, 1_000_000, 6_000_000]) {
      const content = randomBytes(size)
      const id = await put(content)
      t.match(await backend.head(id), { size, modified: Date })
      const whole = await get(id)
      t.equal(whole?.size, size)
      t.ok(whole?.content.equals(content), String(size))
      if (size < 2) continue
      const range = { start: 1, end: size - 2 }
      const part = await get(id, range)
      t.equal(part?.size, size, 'the size of the whole file')
      t.ok(part?.content.equals(content.subarray(1, size - 1)))
      await backend.delete(id)
    }
  })

  t.test('a missing file is reported as missing', async (t) => {
    const id = randomUUID()
    t.equal(await backend.get(id), undefined)
    t.equal(await backend.get(id, { start: 0, end: 1 }), undefined)
    t.equal(await backend.head(id), undefined)
    t.equal(await backend.copy(id, randomUUID()), false)
    await backend.delete(id)
  })

  t.test('a copy is independent of its original', async (t) => {
    const content = randomBytes(200_000)
    const [from, to] = [await put(content), randomUUID()]
    t.equal(await backend.copy(from, to), true)
    await backend.delete(from)
    t.equal(await backend.get(from), undefined)
    t.ok((await get(to))?.content.equals(content))
  })

  t.test('all files are listed, by folder and together', async (t) => {
    const before = await idsIn(backend)
    const ids = [...before]
    for (let index = 0; index < 5; index++) ids.push(await put(randomBytes(10)))
    t.same(await idsIn(backend), ids.sort())
    const folders = await Promise.all([...new Set(ids.map((id) => id.slice(0, 2)))].map((each) => idsIn(backend, each)))
    t.same(folders.flat().sort(), ids)
  })

  t.test('content that fails leaves no file, with any size', async (t) => {
    const before = await idsIn(backend)
    for (const size of [0, 100_000, 6_000_000]) {
      const failing = pieces(randomBytes(size), 1_000_000, new Error('a client that left'))
      await t.rejects(backend.put(randomUUID(), failing), { message: 'a client that left' })
    }
    t.same(await idsIn(backend), before)
  })

  t.test('concurrent writes and reads do not interfere', async (t) => {
    const contents = Array.from({ length: 20 }, (_, index) => Buffer.alloc(70_000, index))
    const ids = await Promise.all(contents.map(put))
    const read = await Promise.all(ids.map((id) => get(id)))
    t.ok(read.every((each, index) => each?.content.equals(contents[index]!)))
  })
}
