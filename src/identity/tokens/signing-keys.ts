import { createPublicKey, generateKeyPairSync, randomUUID } from 'node:crypto'
import { desc, gt, isNull, or, sql } from 'drizzle-orm'
import { signing_keys as table } from '#drizzle/tables/identity.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Database, Transaction } from '#src/database/connect.ts'
import { LOCKS } from '#src/database/locks.ts'
import { CHANGE_CHANNEL } from '#src/database/changes.ts'

/** A public key as JSON Web Key (RFC 7517). */
export interface PublicJwk {
  kty: 'EC'
  crv: 'P-256'
  x: string
  y: string
  kid: string
  alg: 'ES256'
  use: 'sig'
  key_ops: ['verify']
}

interface SigningKey {
  kid: string
  publicPem: string
  privatePem: string
  jwk: PublicJwk
  signsFrom: number
  retiresAt: number
}

/** The result of a rotation: a new key pair. */
export interface Rotation { kid: string, signsFrom: Date }

/** Writes a rotation to the audit log, in its transaction. */
export type AuditRotation = (tx: Transaction, rotation: Rotation) => Promise<void>

/** The key pairs that sign users' tokens (ES256). */
export interface SigningKeys {
  /** The pair that signs now. */
  current (): Promise<{ kid: string, privatePem: string }>
  /**
   * The public key as PEM; undefined for a key that is not ours, or not any more. Reads the database for an unknown
   * key.
   */
  find (kid: string): Promise<string | undefined>
  /** Whether a key was still good when the keys were last read, within the last minute; if false, ask `find`. */
  isLive (kid: string): boolean
  jwks (): Promise<PublicJwk[]>
  /**
   * Makes a new pair. Normally it is published before it signs, and the old pair stays good for its tokens; `atOnce`
   * retires the old pairs.
   */
  rotate (atOnce?: boolean, auditRotation?: AuditRotation): Promise<Rotation>
  /** Makes the next call read the keys again. */
  forget (): void
  /** Rotates when the newest pair is old. */
  rotateWhenOld (auditRotation?: AuditRotation): Promise<Rotation | undefined>
}

interface Creation { besideOthers: boolean, atOnce?: boolean, onlyAfterDays?: number, auditRotation?: AuditRotation }

/** How long a token lives, seconds. */
export const ACCESS_TOKEN_SECONDS = 3600

const MINUTE = 60_000
/** Clients keep the published set for ten minutes: a new key is published for longer before it signs. */
const ANNOUNCED_MS = 15 * MINUTE
const OVERLAP_MS = ACCESS_TOKEN_SECONDS * 1000 + 5 * MINUTE
const ROTATE_AFTER_DAYS = 90
/** Other processes rotate keys, too. */
const REREAD_MS = MINUTE
/** An unknown `kid` may be a new key of another process, or invented by the caller. */
const UNKNOWN_REREAD_MS = 1000

export function createSigningKeys (db: Database, secrets: Keys, now = Date.now): SigningKeys {
  let known = new Map<string, SigningKey>()
  let readAt = -Infinity
  let reading: Promise<void> | undefined
  /** Counts the changes: keys that were read before a change are read again. */
  let generation = 0

  const live = (key: SigningKey | undefined) => key !== undefined && key.retiresAt > now()
  const signer = () => {
    const pairs = [...known.values()].filter(live).sort((a, b) => b.signsFrom - a.signsFrom)
    // The clock of the process that retired the others may be ahead.
    return pairs.find(({ signsFrom }) => signsFrom <= now()) ?? pairs.at(-1)
  }

  return {
    async current () {
      await ensureFresh(REREAD_MS)
      const key = signer()
      if (key) return key
      await create({ besideOthers: false })
      return signer()!
    },
    async find (kid) {
      await ensureFresh(known.has(kid) ? REREAD_MS : UNKNOWN_REREAD_MS)
      const key = known.get(kid)
      return live(key) ? key!.publicPem : undefined
    },
    isLive: (kid) => now() - readAt <= REREAD_MS && live(known.get(kid)),
    async jwks () {
      await this.current()
      return [...known.values()].filter(live).map(({ jwk }) => jwk)
    },
    async rotate (atOnce = false, auditRotation) {
      return (await create({ besideOthers: true, atOnce, auditRotation }))!
    },
    forget,
    async rotateWhenOld (auditRotation) {
      return await create({ besideOthers: true, onlyAfterDays: ROTATE_AFTER_DAYS, auditRotation })
    }
  }

  function forget () {
    generation++
    readAt = -Infinity
  }

  async function ensureFresh (maxAgeMs: number) {
    if (now() - readAt > maxAgeMs) await read()
  }

  function read (): Promise<void> {
    reading ??= readAll().finally(() => { reading = undefined })
    return reading
  }

  async function readAll () {
    const before = generation
    const rows = await db
      .select()
      .from(table)
      .where(or(isNull(table.retires_at), gt(table.retires_at, sql`now()`)))
      .orderBy(desc(table.signs_from))
    if (before !== generation) return await readAll()
    known = new Map(rows.map(({ kid, public_key, private_key, signs_from, retires_at }) => [kid, {
      kid,
      publicPem: public_key,
      privatePem: secrets.unseal(private_key, `signing-key/${kid}`).toString(),
      jwk: jwkOf(kid, public_key),
      signsFrom: signs_from.getTime(),
      retiresAt: retires_at?.getTime() ?? Infinity
    }]))
    readAt = now()
  }

  /** Processes wait for each other: of those that find no pair, or an old one, only one makes a new pair. */
  async function create ({
    besideOthers,
    atOnce = false,
    onlyAfterDays,
    auditRotation
  }: Creation): Promise<Rotation | undefined> {
    const rotation = await insert({ besideOthers, atOnce, onlyAfterDays, auditRotation })
    forget()
    await read()
    return rotation
  }

  async function insert (
    { besideOthers, atOnce, onlyAfterDays, auditRotation }: Creation
  ): Promise<Rotation | undefined> {
    return await db.transaction(async (tx) => {
      await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.signingKeys})`)
      const [newest] = await tx.select({ signs_from: table.signs_from }).from(table)
        .where(isNull(table.retires_at)).orderBy(desc(table.signs_from)).limit(1)
      if (newest && !besideOthers) return undefined
      if (
        newest &&
        onlyAfterDays !== undefined &&
        now() - newest.signs_from.getTime() < onlyAfterDays * 24 * 60 * MINUTE
      ) { return undefined }
      const kid = randomUUID()
      const { publicKey, privateKey } = generateKeyPairSync('ec', {
        namedCurve: 'P-256',
        publicKeyEncoding: { type: 'spki', format: 'pem' },
        privateKeyEncoding: { type: 'pkcs8', format: 'pem' }
      })
      const signsFrom = newest && !atOnce ? now() + ANNOUNCED_MS : now()
      const rotation = { kid, signsFrom: new Date(signsFrom) }
      await tx.update(table).set({ retires_at: new Date(atOnce ? now() : signsFrom + OVERLAP_MS) })
        .where(atOnce ? or(isNull(table.retires_at), gt(table.retires_at, sql`now()`)) : isNull(table.retires_at))
      await tx
        .insert(table)
        .values({
          kid,
          public_key: publicKey,
          private_key: secrets.seal(privateKey, `signing-key/${kid}`),
          signs_from: rotation.signsFrom
        })
      await tx.execute(sql`select pg_notify(${CHANGE_CHANNEL}, ${`signing:${kid}`})`)
      await auditRotation?.(tx, rotation)
      return rotation
    })
  }
}

function jwkOf (kid: string, pem: string): PublicJwk {
  const { x, y } = createPublicKey(pem).export({ format: 'jwk' })
  return { kty: 'EC', crv: 'P-256', x: x!, y: y!, kid, alg: 'ES256', use: 'sig', key_ops: ['verify'] }
}
