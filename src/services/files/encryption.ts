import { createCipheriv, createDecipheriv } from 'node:crypto'
import { freeMemory } from '#src/lib/free-memory.ts'
import type { ByteRange } from '#src/lib/ranges.ts'

/*
 * A file is a series of chunks, each encrypted with AES-256-GCM under the file's own key, as in the STREAM construction
 * (Hoang, Reyhanitabar, Rogaway, Vizár 2015). The nonce contains the chunk's number, and whether the chunk is the last.
 * So chunks cannot be changed, moved, removed or added, and a range can be decrypted alone. A key encrypts only one
 * content, so no nonce repeats.
 */

/** Plaintext bytes of each chunk except the last. */
export const CHUNK_BYTES = 64 * 1024
export const TAG_BYTES = 16
/** Number of chunks in one read or one encrypted write. */
const STRETCH_CHUNKS = 8
/** The encrypted size of these chunks. */
export const STRETCH_BYTES = STRETCH_CHUNKS * (CHUNK_BYTES + TAG_BYTES)
export const KEY_BYTES = 32
const NONCE_BYTES = 12
const CIPHER = 'aes-256-gcm'

/** The stored file was altered or truncated. */
export class ChangedFileError extends Error {}

/** Number of chunks of a content. The last chunk may be full. Empty content has one empty chunk. */
function chunksOf (size: number): number {
  return Math.max(1, Math.ceil(size / CHUNK_BYTES))
}

/** Encrypted size of a content. */
export function encryptedSize (size: number): number {
  return size + chunksOf(size) * TAG_BYTES
}

/** The encrypted range that covers a plaintext range. */
export function encryptedRange (size: number, { start, end }: ByteRange): ByteRange {
  const stored = CHUNK_BYTES + TAG_BYTES
  return {
    start: Math.floor(start / CHUNK_BYTES) * stored,
    end: Math.min((Math.floor(end / CHUNK_BYTES) + 1) * stored, encryptedSize(size)) - 1
  }
}

/** Encrypts a content, several chunks at a time. */
export async function * encrypt (content: AsyncIterable<Buffer>, key: Buffer): AsyncGenerator<Buffer> {
  let index = 0
  // The last chunk is known only at the end of the content.
  for await (const { bytes, isLast } of inStretches(content, CHUNK_BYTES, 1)) {
    const parts: Buffer[] = []
    const encrypted: ArrayBufferLike[] = []
    for (let start = 0; start < bytes.length || parts.length === 0; start += CHUNK_BYTES) {
      const chunk = bytes.subarray(start, start + CHUNK_BYTES)
      const isEnd = isLast && start + CHUNK_BYTES >= bytes.length
      const cipher = createCipheriv(CIPHER, key, nonce(index++, isEnd), { authTagLength: TAG_BYTES })
      const part = cipher.update(chunk)
      encrypted.push(part.buffer)
      parts.push(part, cipher.final(), cipher.getAuthTag())
    }
    const joined = Buffer.concat(parts)
    freeMemory(encrypted)
    yield joined
  }
}

/**
 * Decrypts a file, or a range of it. `file` contains the bytes of `encryptedRange`, or the whole file. Only
 * authenticated bytes are yielded.
 * @param size size of the whole content
 * @throws ChangedFileError
 */
export async function * decrypt (
  file: AsyncIterable<Buffer>,
  key: Buffer,
  size: number,
  range: ByteRange = { start: 0, end: size - 1 }
): AsyncGenerator<Buffer> {
  const last = chunksOf(size) - 1
  const end = size === 0 ? 0 : Math.floor(range.end / CHUNK_BYTES)
  let index = Math.floor(range.start / CHUNK_BYTES)
  for await (const { bytes } of inStretches(file, CHUNK_BYTES + TAG_BYTES, 0)) {
    for (let start = 0; start < bytes.length; start += CHUNK_BYTES + TAG_BYTES) {
      const chunk = bytes.subarray(start, start + CHUNK_BYTES + TAG_BYTES)
      const expected = (index === last ? size - index * CHUNK_BYTES : CHUNK_BYTES) + TAG_BYTES
      if (index > end || chunk.length !== expected) throw new ChangedFileError('the file has another length')
      const content = decryptChunk(chunk, key, nonce(index, index === last))
      const offset = index * CHUNK_BYTES
      const part = content.subarray(Math.max(range.start - offset, 0), range.end - offset + 1)
      if (part.length > 0) yield part
      index++
    }
  }
  if (index !== end + 1) throw new ChangedFileError('the file has another length')
}

function decryptChunk (chunk: Buffer, key: Buffer, iv: Buffer): Buffer {
  const split = chunk.length - TAG_BYTES
  // authTagLength is required: without it Node accepts a tag truncated to 4 bytes.
  const decipher = createDecipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES })
  decipher.setAuthTag(chunk.subarray(split))
  const content = decipher.update(chunk.subarray(0, split))
  try {
    decipher.final()
  } catch (cause) {
    throw new ChangedFileError('a chunk was changed', { cause })
  }
  return content
}

/** Eleven bytes for the chunk number and one for the last chunk, as in `age`. */
function nonce (index: number, isLast: boolean): Buffer {
  const bytes = Buffer.alloc(NONCE_BYTES)
  bytes.writeUInt32BE(index, NONCE_BYTES - 5)
  bytes[NONCE_BYTES - 1] = isLast ? 1 : 0
  return bytes
}

/**
 * Regroups bytes into blocks of whole chunks. Only the last block may be shorter. Copies an input buffer that ends
 * inside a block, because a buffer is valid only until the next one is requested.
 * @param held minimum size of the last block of a nonempty input
 */
async function * inStretches (
  pieces: AsyncIterable<Buffer>,
  chunk: number,
  held: 0 | 1
): AsyncGenerator<{ bytes: Buffer, isLast: boolean }> {
  const size = STRETCH_CHUNKS * chunk
  let waiting: Buffer[] = []
  let length = 0
  for await (const piece of pieces) {
    waiting.push(piece)
    length += piece.length
    if (length < size + held) continue
    const joined = waiting.length === 1 ? piece : Buffer.concat(waiting, length)
    let start = 0
    for (; length >= size + held; length -= size, start += size) {
      yield { bytes: joined.subarray(start, start + size), isLast: false }
    }
    waiting = [joined.subarray(start)]
  }
  yield { bytes: waiting.length === 1 ? waiting[0]! : Buffer.concat(waiting, length), isLast: true }
}
