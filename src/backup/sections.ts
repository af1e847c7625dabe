import { DAMAGED, OperationError } from './errors.ts'

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
  const json = Buffer.from(JSON.stringify(head))
  yield framed(Buffer.concat([END, json]), json.length)
  let frame: Buffer | undefined
  let length = 0
  for await (const piece of pieces ?? []) {
    for (let start = 0; start < piece.length;) {
      frame ??= Buffer.allocUnsafeSlow(LENGTH_BYTES + PIECE_BYTES)
      const copied = piece.copy(frame, LENGTH_BYTES + length, start)
      start += copied
      length += copied
      if (length < PIECE_BYTES) continue
      yield framed(frame, length)
      frame = undefined
      length = 0
    }
  }
  if (frame) yield framed(frame, length)
  yield END
}

/** A frame whose first bytes say how many follow. */
function framed (frame: Buffer, length: number): Buffer {
  frame.writeUInt32BE(length)
  return frame.subarray(0, LENGTH_BYTES + length)
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
