import { DAMAGED, OperationError } from '../errors.ts'

/*
 * The content of a backup is a series of sections. Each is a JSON object that says what it is, and the bytes that
 * belong to it, in pieces. Object and pieces have their length in front of them, four bytes; a length of 0 ends the
 * section.
 */

const LENGTH_BYTES = 4
const PIECE_BYTES = 256 * 1024
/** More than an object has that this program wrote. */
const MAX_BYTES = 64 * 1024 * 1024
const END = Buffer.alloc(LENGTH_BYTES)

export interface Section<Head> {
  head: Head
  /** To be read before the next section is asked for; what is left is passed over. */
  pieces: AsyncGenerator<Buffer>
}

/** The bytes of one section. A piece is not looked at any more once the next one is asked for. */
export async function * section (head: object, pieces?: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield framed([Buffer.from(JSON.stringify(head))])
  let waiting: Buffer[] = []
  let length = 0
  for await (const piece of pieces ?? []) {
    for (let start = 0; start < piece.length; start += PIECE_BYTES) {
      const part = Buffer.from(piece.subarray(start, start + PIECE_BYTES))
      waiting.push(part)
      length += part.length
      if (length < PIECE_BYTES) continue
      yield framed(waiting)
      waiting = []
      length = 0
    }
  }
  if (length > 0) yield framed(waiting)
  yield END
}

function framed (parts: readonly Buffer[]): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(parts.reduce((sum, { length }) => sum + length, 0))
  return Buffer.concat([length, ...parts])
}

/**
 * The sections of a content.
 * @throws OperationError where it is none
 */
export async function * sectionsOf<Head> (content: AsyncIterable<Buffer>): AsyncGenerator<Section<Head>> {
  const take = taker(content)

  async function next (): Promise<Buffer | undefined> {
    const length = (await take(LENGTH_BYTES))?.readUInt32BE()
    if (length === undefined || length === 0) return undefined
    const bytes = length > MAX_BYTES ? undefined : await take(length)
    if (bytes === undefined) throw new OperationError(DAMAGED)
    return bytes
  }

  async function * pieces (): AsyncGenerator<Buffer> {
    for (let piece = await next(); piece; piece = await next()) yield piece
  }

  for (let head = await next(); head; head = await next()) {
    const rest = pieces()
    // Of this program's own writing: nothing else is authentic.
    yield { head: JSON.parse(head.toString()) as Head, pieces: rest }
    while (!(await rest.next()).done);
  }
}

/** Takes so many bytes at a time; undefined: there are not that many any more. */
function taker (content: AsyncIterable<Buffer>): (count: number) => Promise<Buffer | undefined> {
  const iterator = content[Symbol.asyncIterator]()
  let waiting: Buffer = Buffer.alloc(0)
  return async (count) => {
    const parts: Buffer[] = [waiting]
    let length = waiting.length
    while (length < count) {
      const { value, done } = await iterator.next()
      if (done) return undefined
      parts.push(value)
      length += value.length
    }
    const joined = parts.length === 1 ? waiting : Buffer.concat(parts, length)
    waiting = joined.subarray(count)
    return joined.subarray(0, count)
  }
}
