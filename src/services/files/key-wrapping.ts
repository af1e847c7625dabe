import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { desc, eq } from 'drizzle-orm'
import { storage_keys } from '#drizzle/tables/storage.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Executor } from '#src/database/connect.ts'
import { KEY_BYTES, TAG_BYTES } from './encryption.ts'
import type { StoredFile } from './file-service.ts'

const IV_BYTES = 12
const CIPHER = 'aes-256-gcm'

/** Associated data of a wrapped key. With it the key is not valid for another file, owner or bucket. */
type Binding = Pick<StoredFile, 'bucket' | 'id' | 'owner'>

/** A wrapped key that belongs to another file or was altered. */
export class WrongKeyError extends Error {}

/** The wrapping key of one generation (HKDF-SHA256 with its salt). */
export function wrappingKey (secret: Buffer, salt: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, 'locanda/storage/wrap', KEY_BYTES))
}

/** Encrypts a file's key: 12 bytes of nonce, 32 bytes of key, 16 bytes of tag. */
export function wrap (key: Buffer, wrapping: Buffer, binding: Binding): Buffer {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, wrapping, iv, { authTagLength: TAG_BYTES }).setAAD(bound(binding))
  return Buffer.concat([iv, cipher.update(key), cipher.final(), cipher.getAuthTag()])
}

/** @throws WrongKeyError */
export function unwrap (wrapped: Buffer, wrapping: Buffer, binding: Binding): Buffer {
  if (wrapped.length !== IV_BYTES + KEY_BYTES + TAG_BYTES) throw new WrongKeyError('the key has another length')
  const decipher = createDecipheriv(CIPHER, wrapping, wrapped.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(bound(binding)).setAuthTag(wrapped.subarray(-TAG_BYTES))
  const key = decipher.update(wrapped.subarray(IV_BYTES, -TAG_BYTES))
  try {
    decipher.final()
  } catch (cause) {
    throw new WrongKeyError('the key was altered, or belongs to another file', { cause })
  }
  return key
}

/** JSON separates the fields, and distinguishes a null owner from an empty one. */
function bound ({ bucket, id, owner }: Binding): Buffer {
  return Buffer.from(JSON.stringify([bucket, id, owner]))
}

/** A generation of the wrapping key. */
interface Generation { id: number, key: Buffer }

export interface Generations {
  newest (executor: Executor): Promise<Generation>
  /** The generation with this id. Undefined if a rotation has deleted it before this process loaded it. */
  find (executor: Executor, id: number): Promise<Generation | undefined>
  /** Locks the generation until the transaction ends. If a rotation has deleted it, locks the newest one. */
  hold (tx: Executor, id: number): Promise<Generation>
}

/** Loads and caches the generations. Cached ones stay usable after a rotation has deleted their rows. */
export function generations (keys: Pick<Keys, 'derive'>): Generations {
  const secret = keys.derive('storage')
  const known = new Map<number, Generation>()

  function generation ({ id, salt }: { id: number, salt: Buffer }): Generation {
    const found = known.get(id) ?? { id, key: wrappingKey(secret, salt) }
    known.set(id, found)
    return found
  }

  const newestRow = (executor: Executor) => executor.select().from(storage_keys).orderBy(desc(storage_keys.id)).limit(1)

  return {
    async newest (executor) {
      const [row] = await newestRow(executor).prepare('newest_generation').execute()
      return generation(row!)
    },
    async find (executor, id) {
      const found = known.get(id)
      if (found) return found
      const [row] = await executor.select().from(storage_keys).where(eq(storage_keys.id, id))
      return row && generation(row)
    },
    async hold (tx, id) {
      const [row] = await tx.select().from(storage_keys).where(eq(storage_keys.id, id)).for('key share')
        .prepare('held_generation').execute()
      if (row) return generation(row)
      const [next] = await newestRow(tx).for('key share')
      return generation(next!)
    }
  }
}
