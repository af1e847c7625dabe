import {
  createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, randomBytes, timingSafeEqual, type KeyObject
} from 'node:crypto'

const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16

/** Secrets derived from `MASTER_KEY`, each with its own HKDF label. A label never changes its meaning. */
export interface Keys {
  /** Derives a 32-byte secret for one purpose. */
  derive (label: string): Buffer
  /** Encrypts with AES-256-GCM. `context` (type and owner of the data) is authenticated, and needed for decryption. */
  seal (plain: Buffer | string, context: string): Buffer
  /** @throws if the key or context differs, or the text was tampered with */
  unseal (sealed: Buffer, context: string): Buffer
  /** A keyed fingerprint, to look up values that must not be readable in the database. */
  fingerprint (label: string, ...parts: readonly string[]): Buffer
}

/** Derives the keys from a master key with HKDF-SHA256 (RFC 5869). */
export function createKeys (master: Buffer): Keys {
  const derive = (label: string) => Buffer.from(hkdfSync('sha256', master, '', `locanda/${label}`, KEY_BYTES))
  // A cached key object. From bytes Node creates one at each use, which takes four times as long as the encryption.
  const sealing = createSecretKey(derive('seal'))
  // Cached, because deriving a key takes much longer than using it.
  const fingerprintKeys = new Map<string, KeyObject>()
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
    unseal (sealed, context) {
      // authTagLength is required: without it Node accepts a tag truncated to 4 bytes.
      const decipher = createDecipheriv('aes-256-gcm', sealing, sealed.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES
      })
      decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
      return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES)), decipher.final()])
    },
    fingerprint (label, ...parts) {
      const key = fingerprintKeys.get(label) ?? createSecretKey(derive(`fingerprint/${label}`))
      fingerprintKeys.set(label, key)
      // JSON separates the parts, so that ("ab", "c") and ("a", "bc") differ.
      return createHmac('sha256', key).update(JSON.stringify(parts)).digest()
    }
  }
}

/**
 * Compares texts with a secret in constant time. The time reveals only whether the length matches. Hashes would hide
 * the length too, but take 16 µs of every request.
 */
export function secretComparer (secret: string | undefined): (presented: unknown) => boolean {
  if (secret === undefined) return () => false
  const expected = Buffer.from(secret)
  return (presented) => {
    if (typeof presented !== 'string') return false
    const given = Buffer.from(presented)
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
}
