import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { buffer, json } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { isDeepStrictEqual } from 'node:util'
import { extract, pack } from 'tar-stream'
import { OperationError } from './errors.ts'

/* The backup format: a tar encrypted with age. `age -d FILE | tar x` opens it without this program. */

/** The first line of an age file. */
const MARK = Buffer.from('age-encryption.org/v1\n')
/** scrypt with N = 2^16 needs 64 MiB. A server may have only 1 GiB. */
const WORK_FACTOR = 16
const PIECE_BYTES = 256 * 1024
const NO_BACKUP = 'non è un salvataggio di Locanda, o ne manca l’inizio'
const OTHER_PASSPHRASE = 'la passphrase non è quella di questo salvataggio, o il suo inizio è danneggiato'
const DAMAGED = 'il salvataggio è danneggiato o incompleto: usarne un altro'

/** A file in the tar. Its header contains the size, which must be known before the content. */
export interface Entry { name: string, size: number, content: Iterable<Buffer> | AsyncIterable<Buffer> }

/** `manifest.json`, the first file. It describes the content, and shows which installations can restore it. */
export interface Manifest {
  version: string
  created: string
  /** The last migration of the database: `when` in drizzle's journal. */
  migration: number
  /** A fingerprint of the master key, which does not reveal the key. */
  masterKey: string
  /** The columns of each table, in the order of `tables/<table>.copy`. */
  columns: Record<string, string[]>
}

/** `summary.json`, the last file: the numbers of rows, files and bytes in the tar, and the gaps of the backup. */
export interface Summary {
  tables: Record<string, number>
  files: number
  bytes: number
  /** Files that a row names, but that were missing, truncated or unreadable. Truncated files are padded with zeros. */
  missing: string[]
  /** Tables and columns that an operator has added. The backup does not contain them. */
  foreign: string[]
  /** The last values of the sequences in use. */
  sequences: Record<string, string>
}

/** Receives the content in this order. Rows are lines of `COPY`, and files are encrypted as in the file store. */
export interface Reader {
  manifest (manifest: Manifest): Promise<void>
  table (name: string, rows: AsyncIterable<Buffer>): Promise<void>
  file (id: string, content: AsyncIterable<Buffer>): Promise<void>
}

/** Passes chunks on, and may limit their rate or stop them. */
export type Pace = (pieces: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>
export const atOnce: Pace = (pieces) => pieces

export async function * seal (entries: AsyncIterable<Entry>, passphrase: string): AsyncGenerator<Uint8Array> {
  const { Encrypter } = await import('age-encryption')
  const age = new Encrypter()
  age.setScryptWorkFactor(WORK_FACTOR)
  // Keyboards encode accented letters in more than one way.
  age.setPassphrase(passphrase.normalize('NFC'))
  yield * await age.encrypt(ReadableStream.from(packed(entries)))
}

async function * packed (entries: AsyncIterable<Entry>): AsyncGenerator<Uint8Array> {
  const tar = pack()
  async function fill (): Promise<void> {
    for await (const { name, size, content } of entries) {
      await pipeline(inPieces(content), tar.entry({ name, size, mode: 0o600 }))
    }
    tar.finalize()
  }
  const filled = fill().catch((err: Error) => { tar.destroy(err) })
  try {
    yield * tar as AsyncIterable<Uint8Array>
  } finally {
    await filled
  }
}

/** Copies the content into larger chunks, because `COPY` returns single rows and file readers reuse their buffer. */
async function * inPieces (content: Entry['content']): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = []
  let length = 0
  for await (const piece of content) {
    waiting.push(piece)
    length += piece.length
    if (length < PIECE_BYTES) continue
    yield Buffer.concat(waiting, length)
    waiting = []
    length = 0
  }
  if (length > 0) yield Buffer.concat(waiting, length)
}

const drain = (_name: string, content: AsyncIterable<Buffer>) => Readable.from(content).forEach(() => {})
const CHECK: Reader = { manifest: async () => {}, table: drain, file: drain }

/**
 * Reads a whole backup and compares its counts with the summary.
 * @throws OperationError for a wrong passphrase, and for a truncated or changed file
 */
export async function readBackup (
  path: string, passphrase: string, { pace = atOnce, reader = CHECK } = {}
): Promise<{ manifest: Manifest, summary: Summary }> {
  const found: Pick<Summary, 'tables' | 'files' | 'bytes'> = { tables: {}, files: 0, bytes: 0 }
  let manifest: Manifest | undefined
  let summary: Summary | undefined
  async function read (name: string, content: AsyncIterable<Buffer>): Promise<void> {
    const [, folder, own = ''] = /^(tables|files)\/([^.]+)/.exec(name) ?? []
    if (folder === 'tables') {
      found.tables[own] = 0
      await reader.table(own, counted(content, (piece) => { found.tables[own]! += rowsIn(piece) }))
    } else if (folder === 'files') {
      found.files++
      await reader.file(own, counted(content, ({ length }) => { found.bytes += length }))
    } else if (name === 'manifest.json') {
      manifest = await json(content) as Manifest
      await reader.manifest(manifest)
    } else summary = await json(content) as Summary
  }
  const tar = extract()
  let fault: unknown
  const fed = pipeline(pace(opened(path, passphrase)), tar).catch((err: unknown) => { fault = err })
  try {
    for await (const entry of tar) await read(entry.header.name, entry as AsyncIterable<Buffer>)
  } catch (err) {
    await fed
    throw fault instanceof OperationError ? fault : err
  }
  if (!manifest || !summary || !isDeepStrictEqual({ ...summary, ...found }, summary)) throw new OperationError(DAMAGED)
  return { manifest, summary }
}

async function * counted (pieces: AsyncIterable<Buffer>, count: (piece: Buffer) => void): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    count(piece)
    yield piece
  }
}

/** Counts the rows that end in a chunk. Inside a value, `COPY` writes a newline as the two characters `\n`. */
export function rowsIn (piece: Buffer): number {
  let rows = 0
  for (let at = piece.indexOf(0x0a); at >= 0; at = piece.indexOf(0x0a, at + 1)) rows++
  return rows
}

/** Decrypts the tar. It yields only authenticated bytes. */
async function * opened (path: string, passphrase: string): AsyncGenerator<Buffer> {
  if (!await isSealed(path).catch((err: NodeJS.ErrnoException) => {
    throw new OperationError(`${path} non si può leggere (${err.code})`, { cause: err })
  })) throw new OperationError(NO_BACKUP)
  const { Decrypter } = await import('age-encryption')
  const age = new Decrypter()
  age.addPassphrase(passphrase.normalize('NFC'))
  const file = ReadableStream.from(createReadStream(path, { highWaterMark: PIECE_BYTES }))
  const content = await age.decrypt(file).catch((cause) => { throw new OperationError(OTHER_PASSPHRASE, { cause }) })
  try {
    for await (const piece of content) yield Buffer.from(piece.buffer, piece.byteOffset, piece.length)
  } catch (cause) {
    throw new OperationError(DAMAGED, { cause })
  }
}

/** Whether a file starts with the age header. */
export async function isSealed (path: string): Promise<boolean> {
  return (await buffer(createReadStream(path, { end: MARK.length - 1 }))).equals(MARK)
}
