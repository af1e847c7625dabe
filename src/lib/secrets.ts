import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { platform } from 'node:os'
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
import { join } from 'node:path'

const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16

/** The secrets that hang on `MASTER_KEY`, one HKDF label each; a label never changes its meaning. */
export interface Keys {
  /** A 32-byte secret for one purpose. */
  derive (label: string): Buffer
  /** AES-256-GCM; `context` (what and whose it is) must be the same again to open. */
  seal (plain: Buffer | string, context: string): Buffer
  open (sealed: Buffer, context: string): Buffer
  /** A keyed fingerprint, for looking up what must not be readable. */
  fingerprint (label: string, ...parts: readonly string[]): Buffer
}

/**
 * The master key: 32 bytes from base64, else from `DATA_DIR/master.key`, else generated into that file (mode 0600).
 * Two servers that start together on an empty folder end with the same key.
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
  writeOnce(file, randomBytes(KEY_BYTES).toString('base64') + '\n')
  return readKeyFile(file)
}

/** The keys derived from a master key with HKDF-SHA256 (RFC 5869). */
export function createKeys (master: Buffer): Keys {
  const derive = (label: string) => Buffer.from(hkdfSync('sha256', master, '', `locanda/${label}`, KEY_BYTES))
  const sealing = derive('seal')
  return {
    derive,
    seal (plain, context) {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', sealing, iv, { authTagLength: TAG_BYTES }).setAAD(
        Buffer.from(context)
      )
      const body = Buffer.concat([cipher.update(plain), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), body])
    },
    open (sealed, context) {
      // authTagLength is not optional: without it Node accepts a tag cut down to 4 bytes.
      const decipher = createDecipheriv('aes-256-gcm', sealing, sealed.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES
      })
      decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
      return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES)), decipher.final()])
    },
    fingerprint (label, ...parts) {
      // JSON keeps the parts apart: ("ab", "c") and ("a", "bc") differ.
      return createHmac('sha256', derive(`fingerprint/${label}`)).update(JSON.stringify(parts)).digest()
    }
  }
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

/** Writes a whole file durably under a temporary name, then links it: whoever comes second keeps the first one's. */
function writeOnce (file: string, content: string): void {
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
