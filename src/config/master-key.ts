import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeSync
} from 'node:fs'
import { platform } from 'node:os'
import { join } from 'node:path'
import { makeDataFolder } from './data-folder.ts'

const KEY_BYTES = 32

export interface MasterKey {
  key: Buffer
  /** The file of the key. Undefined if the key comes from the setting. */
  file?: string
  /** The key was just generated, so no data is encrypted with it yet. */
  isNew: boolean
}

/**
 * The master key: 32 bytes from base64, else from `DATA_DIR/master.key`, else generated into that file (mode 0600). No
 * key is generated next to an existing database, because the database has another key. Servers that start together on
 * an empty folder get the same key.
 * @throws Error (Italian, without the key) if it is malformed, readable by others or lost
 */
export function masterKey (base64: string | undefined, dataDir: string): MasterKey {
  if (base64 !== undefined) return { key: decode(base64), isNew: false }
  const file = join(dataDir, 'master.key')
  makeDataFolder(dataDir)
  const found = readKeyFile(file)
  if (found) return { key: found, file, isNew: false }
  if (existsSync(join(dataDir, 'postgres', 'PG_VERSION'))) {
    throw new Error(`manca il file ${file}, con cui è stata scritta la base dati di DATA_DIR: rimetterlo da ` +
      'una copia, o dare la chiave in MASTER_KEY')
  }
  const isNew = writeIfAbsent(file, randomBytes(KEY_BYTES).toString('base64') + '\n')
  const key = readKeyFile(file)
  if (key === undefined) throw new Error(`${file} è un collegamento che non porta a un file`)
  return { key, file, isNew }
}

function decode (base64: string): Buffer {
  const key = Buffer.from(base64, 'base64')
  if (key.length !== KEY_BYTES) throw new Error('deve contenere 32 byte in base64')
  return key
}

/** Reads a key file. Undefined if it does not exist. */
function readKeyFile (file: string): Buffer | undefined {
  const found = unlessMissing(file, () => statSync(file))
  if (found === undefined) return undefined
  // Refuse a pipe, because reading it would block until another process writes.
  if (!found.isFile()) throw new Error(`${file} non è un file`)
  if (platform() !== 'win32' && (found.mode & 0o077) !== 0) {
    throw new Error(`il file ${file} è leggibile da altri: chmod 600`)
  }
  const text = unlessMissing(file, () => readFileSync(file, 'utf8'))?.trim()
  if (text === undefined) return undefined
  if (text === '') {
    throw new Error(`il file ${file} è vuoto: rimetterlo da una copia, o dare la chiave in MASTER_KEY`)
  }
  try {
    return decode(text)
  } catch (err) {
    throw new Error(`il file ${file} ${(err as Error).message}`)
  }
}

/** Reads a file. Undefined if it does not exist. @throws Error, in Italian, when it cannot be read */
function unlessMissing<T> (file: string, read: () => T): T | undefined {
  try {
    return read()
  } catch (err) {
    const code = err instanceof Error && 'code' in err ? err.code : undefined
    if (code === 'ENOENT') return undefined
    throw new Error(`il file ${file} non si può leggere (${String(code)})`)
  }
}

/**
 * Writes a file durably under a temporary name, then links it. An existing file is not replaced. Returns true if the
 * file was created.
 */
function writeIfAbsent (file: string, content: string): boolean {
  const temporary = `${file}.${randomBytes(6).toString('hex')}`
  const descriptor = openSync(temporary, 'wx', 0o600)
  try {
    try {
      writeSync(descriptor, content)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    linkSync(temporary, file)
    return true
  } catch (err) {
    if (!(err instanceof Error && 'code' in err && err.code === 'EEXIST')) throw err
    return false
  } finally {
    unlinkSync(temporary)
  }
}
