import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Keys } from '#src/lib/secrets.ts'

/**
 * `lcd_<id>_<secret>_<mac>`, all hexadecimal: 64 bits by which the key is found, 256 secret bits, and 48 bits that only
 * this installation can compute.
 */
const FORM = /^lcd_([0-9a-f]{16})_([0-9a-f]{64})_([0-9a-f]{12})$/

/** A person's API key as it is presented. */
export interface PresentedKey { id: string, hash: Buffer }

export interface ApiKeyFormat {
  /** A new key. The text is shown once; its hash is kept. */
  mint (): { id: string, text: string, hash: Buffer }
  /** Undefined for a text that this installation did not make: invented keys never reach the database. */
  read (text: string): PresentedKey | undefined
}

export function apiKeyFormat (keys: Keys): ApiKeyFormat {
  const secret = keys.derive('api-key')
  const mac = (body: string) => createHmac('sha256', secret).update(body).digest('hex').slice(0, 12)

  return {
    mint () {
      const id = randomBytes(8).toString('hex')
      const body = `lcd_${id}_${randomBytes(32).toString('hex')}`
      const text = `${body}_${mac(body)}`
      return { id, text, hash: digest(text) }
    },
    read (text) {
      const [, id, , presented] = FORM.exec(text) ?? []
      if (id === undefined || presented === undefined) return undefined
      const expected = mac(text.slice(0, text.lastIndexOf('_')))
      return timingSafeEqual(Buffer.from(expected), Buffer.from(presented)) ? { id, hash: digest(text) } : undefined
    }
  }
}

function digest (text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
