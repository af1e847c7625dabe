import { hkdfSync, randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto'
import { open as openFile, stat } from 'node:fs/promises'
import type { TransformOptions } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress, type ZstdOptions } from 'node:zlib'
import { chunksOf, decrypt, encrypt, KEY_BYTES, TAG_BYTES, CHUNK_BYTES, ChangedFileError } from
  '#src/services/files/encryption.ts'
import { DAMAGED, NO_BACKUP, OperationError, OTHER_PASSPHRASE } from './errors.ts'
import { writePartial, type Unnamed } from './whole-file.ts'

/*
 * The file of a backup: a header (what it is, a salt, and bytes by which the right passphrase is known), and behind it
 * the content, compressed with Zstandard and encrypted as stored files are: AES-256-GCM in chunks, in the STREAM
 * construction. The key is made of passphrase and salt (scrypt), so that every byte of the header counts.
 */

const NAME = Buffer.from('LOCANDA BACKUP ')
/** The version of the format: the character behind the name. */
const VERSION = '1'
const MAGIC = Buffer.concat([NAME, Buffer.from(VERSION)])
/** The cost of the key: the choice of OWASP's password storage cheat sheet that takes 32 MiB. */
const COST: ScryptOptions = { N: 2 ** 15, r: 8, p: 3, maxmem: 48 * 1024 * 1024 }
/**
 * Large pieces, and some of them waiting on both sides, so that reading, compressing and writing go on side by side:
 * with the usual 16 KiB a backup takes half as long again.
 */
const FLOW: ZstdOptions & TransformOptions = {
  chunkSize: 512 * 1024,
  readableHighWaterMark: 2 * 1024 * 1024,
  writableHighWaterMark: 2 * 1024 * 1024
}
const SALT_BYTES = 32
const CHECK_BYTES = 16
export const HEADER_BYTES = MAGIC.length + SALT_BYTES + CHECK_BYTES

export interface Header { bytes: Buffer, key: Buffer }

/** The header of a new file, and the key of what follows it. */
export async function newHeader (passphrase: string): Promise<Header> {
  const salt = randomBytes(SALT_BYTES)
  const { key, check } = await keysOf(passphrase, salt)
  return { bytes: Buffer.concat([MAGIC, salt, check]), key }
}

/**
 * The key of what follows a header.
 * @throws OperationError
 */
export async function openHeader (bytes: Buffer, passphrase: string): Promise<Buffer> {
  if (bytes.length < HEADER_BYTES || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw new OperationError(NO_BACKUP)
  }
  const { key, check } = await keysOf(passphrase, bytes.subarray(MAGIC.length, MAGIC.length + SALT_BYTES))
  if (!timingSafeEqual(check, bytes.subarray(-CHECK_BYTES))) throw new OperationError(OTHER_PASSPHRASE)
  return key
}

/** Gives the key of what follows a header. */
export type Opener = (header: Buffer) => Promise<Buffer>

/** By a passphrase: of one header once, because a key takes a third of a second, and a restore reads its file twice. */
export function opener (passphrase: string): Opener {
  let last: Header | undefined
  return async (bytes) => {
    if (!last?.bytes.equals(bytes)) last = { bytes, key: await openHeader(bytes, passphrase) }
    return last.key
  }
}

async function keysOf (passphrase: string, salt: Buffer): Promise<{ key: Buffer, check: Buffer }> {
  const secret = await new Promise<Buffer>((resolve, reject) => {
    // Keyboards spell an accented letter in more than one way.
    scrypt(passphrase.normalize('NFC'), salt, KEY_BYTES, COST, (err, made) => {
      if (err) reject(err)
      else resolve(made)
    })
  })
  const part = (label: string, length: number) =>
    Buffer.from(hkdfSync('sha256', secret, salt, `locanda/backup/${label}`, length))
  return { key: part('content', KEY_BYTES), check: part('check', CHECK_BYTES) }
}

/** The bytes behind the header. */
export async function * sealed (content: AsyncIterable<Buffer>, key: Buffer): AsyncGenerator<Buffer> {
  yield * encrypt(through(content, createZstdCompress(FLOW)), key)
}

/**
 * The content of the bytes behind the header; nothing is given out that has not been authenticated.
 * @param length how many bytes those are: a file that was cut is known by it
 * @throws OperationError
 */
export async function * opened (
  bytes: AsyncIterable<Buffer>,
  length: number,
  key: Buffer
): AsyncGenerator<Buffer> {
  const size = contentSize(length)
  try {
    yield * through(decrypt(bytes, key, size), createZstdDecompress(FLOW))
  } catch (err) {
    throw err instanceof ChangedFileError ? new OperationError(DAMAGED, { cause: err }) : err
  }
}

/** @throws OperationError where no content has a file of this length */
function contentSize (length: number): number {
  const size = length - Math.ceil(length / (CHUNK_BYTES + TAG_BYTES)) * TAG_BYTES
  if (size < 0 || size + chunksOf(size) * TAG_BYTES !== length) throw new OperationError(DAMAGED)
  return size
}

/** What comes out of a transform; a failure of what goes in comes out as it is. What goes in is closed at the end. */
async function * through (
  content: AsyncIterable<Buffer>,
  transform: NodeJS.ReadWriteStream & AsyncIterable<Buffer>
): AsyncGenerator<Buffer> {
  const fed = pipeline(content, transform)
  let failure: unknown
  const noted = fed.catch((err: unknown) => { failure = err })
  try {
    yield * transform
  } catch (err) {
    await noted
    throw failure ?? err
  } finally {
    // Also when nobody wants any more of it.
    await noted
  }
  await fed
}

/**
 * Writes a backup, which has not its name yet.
 * @param isOwnName whether its name is for backups alone, so that a file which does not begin as one is a damaged one
 */
export async function writeContainer (
  path: string,
  passphrase: string,
  content: AsyncIterable<Buffer>,
  isOwnName = false
): Promise<Unnamed> {
  return writePartial(path, isOwnName ? undefined : NAME, withHeader(passphrase, content))
}

/** The key is made once there is a file: who has mistyped its name does not wait for it. */
async function * withHeader (passphrase: string, content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const { bytes, key } = await newHeader(passphrase)
  yield bytes
  yield * sealed(content, key)
}

/**
 * Reads a backup once.
 * @throws OperationError, also in the middle of the reading
 */
export async function readContainer<T> (
  path: string,
  passphrase: string | Opener,
  read: (content: AsyncIterable<Buffer>) => Promise<T>
): Promise<T> {
  const orRefuse = (err: NodeJS.ErrnoException) => {
    throw new OperationError(`${path} non si può leggere (${err.code})`)
  }
  // Before it is opened: a pipe would be waited for.
  if (!(await stat(path).catch(orRefuse)).isFile()) throw new OperationError(`${path} non è un file`)
  const handle = await openFile(path, 'r').catch(orRefuse)
  try {
    const header = Buffer.alloc(HEADER_BYTES)
    const { bytesRead } = await handle.read(header, 0, HEADER_BYTES, 0)
    const open = typeof passphrase === 'string' ? opener(passphrase) : passphrase
    const key = await open(header.subarray(0, bytesRead))
    const { size } = await handle.stat()
    const rest = handle.createReadStream({ start: HEADER_BYTES, autoClose: false, highWaterMark: 512 * 1024 })
    return await read(opened(rest, size - HEADER_BYTES, key))
  } finally {
    await handle.close()
  }
}
