import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeSync
} from 'node:fs'
import { platform } from 'node:os'
import { join } from 'node:path'

const KEY_BYTES = 32

/**
 * The master key: 32 bytes from base64, else from `DATA_DIR/master.key`, else generated into that file (mode 0600).
 * Two servers that start together on an empty folder get the same key.
 * @throws Error (Italian, without the key) when it is malformed or readable by others
 */
export function masterKey (base64: string | undefined, dataDir: string): Buffer {
  if (base64 !== undefined) return decode(base64)
  const file = join(dataDir, 'master.key')
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  try {
    return readKeyFile(file)
  } catch (err) {
    if (!(err instanceof Error && 'code' in err && err.code === 'ENOENT')) throw err
  }
  writeIfAbsent(file, randomBytes(KEY_BYTES).toString('base64') + '\n')
  return readKeyFile(file)
}

function decode (base64: string): Buffer {
  const key = Buffer.from(base64, 'base64')
  if (key.length !== KEY_BYTES) throw new Error('deve contenere 32 byte in base64')
  return key
}

function readKeyFile (file: string): Buffer {
  const key = decode(readFileSync(file, 'utf8').trim())
  if (platform() !== 'win32' && (statSync(file).mode & 0o077) !== 0) {
    throw new Error('il file master.key in DATA_DIR è leggibile da altri: chmod 600')
  }
  return key
}

/** Writes a file whole and durably under a temporary name, then links it; a file that is there already stays. */
function writeIfAbsent (file: string, content: string): void {
  const temporary = `${file}.${randomBytes(6).toString('hex')}`
  const descriptor = openSync(temporary, 'wx', 0o600)
  try {
    writeSync(descriptor, content)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  try {
    linkSync(temporary, file)
  } catch (err) {
    if (!(err instanceof Error && 'code' in err && err.code === 'EEXIST')) throw err
  } finally {
    unlinkSync(temporary)
  }
}
