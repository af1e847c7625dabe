import { createPublicKey, generateKeyPairSync, randomUUID } from 'node:crypto'
import { desc, gt, isNull, or, sql } from 'drizzle-orm'
import { signing_keys as table } from '#drizzle/tables/identity.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Database, Transaction } from '#src/database/connect.ts'
import { LOCKS } from '#src/database/locks.ts'
import { NOTIFICATION_CHANNEL } from '#src/database/notifications.ts'

interface PublicJwk {
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

interface Rotation { kid: string, signsFrom: Date }

type AuditRotation = (tx: Transaction, rotation: Rotation) => Promise<void>

interface Creation { besideOthers: boolean, atOnce?: boolean, onlyAfterMs?: number, auditRotation?: AuditRotation }

/** Lifetime of an access token, seconds. */
export const ACCESS_TOKEN_SECONDS = 3600

const MINUTE = 60_000
/** A new key is published for this time before it signs, because clients cache the published set for ten minutes. */
const ANNOUNCED_MS = 15 * MINUTE
const OVERLAP_MS = ACCESS_TOKEN_SECONDS * 1000 + 5 * MINUTE
const ROTATE_AFTER_MS = 90 * 24 * 60 * MINUTE
/** Interval after which keys are read again, because other processes also rotate keys. */
const REREAD_MS = MINUTE
/** Minimum interval of reads for an unknown `kid`, which another process may have created, or a caller invented. */
const UNKNOWN_REREAD_MS = 1000

export class SigningKeys {
  readonly #db: Database
  readonly #secrets: Keys
  readonly #now: () => number
  #known = new Map<string, SigningKey>()
  #readAt = -Infinity
  #reading: Promise<void> | undefined
  /** Incremented on every change. Keys that were read before a change are then read again. */
  #generation = 0

  constructor (db: Database, secrets: Keys, now = Date.now) {
    this.#db = db
    this.#secrets = secrets
    this.#now = now
  }

  async current (): Promise<{ kid: string, privatePem: string }> {
    await this.#ensureFresh(REREAD_MS)
    const key = this.#signer()
    if (key) return key
    await this.#create({ besideOthers: false })
    return this.#signer()!
  }

  /** The public key as PEM. Undefined for an unknown or a retired key. */
  async find (kid: string): Promise<string | undefined> {
    await this.#ensureFresh(this.#known.has(kid) ? REREAD_MS : UNKNOWN_REREAD_MS)
    const key = this.#known.get(kid)
    return this.#isValid(key) ? key.publicPem : undefined
  }

  /** Whether a key was valid at the last read, within the last minute. If false, call `find`. */
  isLive (kid: string): boolean {
    return this.#now() - this.#readAt <= REREAD_MS && this.#isValid(this.#known.get(kid))
  }

  async jwks (): Promise<PublicJwk[]> {
    await this.current()
    return this.#validKeys().map(({ jwk }) => jwk)
  }

  /**
   * Creates a new pair. It is published before it signs, and the old pair stays valid for tokens that it has signed.
   * `atOnce` retires the old pairs immediately.
   */
  async rotate (atOnce = false, auditRotation?: AuditRotation): Promise<Rotation> {
    return (await this.#create({ besideOthers: true, atOnce, auditRotation }))!
  }

  /** Rotates when the newest pair is 90 days old. Otherwise returns undefined. */
  async rotateWhenOld (auditRotation?: AuditRotation): Promise<Rotation | undefined> {
    return await this.#create({ besideOthers: true, onlyAfterMs: ROTATE_AFTER_MS, auditRotation })
  }

  forget (): void {
    this.#generation++
    this.#readAt = -Infinity
  }

  #isValid (key: SigningKey | undefined): key is SigningKey {
    return key !== undefined && key.retiresAt > this.#now()
  }

  #validKeys (): SigningKey[] {
    return [...this.#known.values()].filter((key) => this.#isValid(key))
  }

  #signer (): SigningKey | undefined {
    const pairs = this.#validKeys().sort((a, b) => b.signsFrom - a.signsFrom)
    // The clock of the process that retired the other pairs may be ahead.
    return pairs.find(({ signsFrom }) => signsFrom <= this.#now()) ?? pairs.at(-1)
  }

  async #ensureFresh (maxAgeMs: number): Promise<void> {
    if (this.#now() - this.#readAt > maxAgeMs) await this.#read()
  }

  #read (): Promise<void> {
    this.#reading ??= this.#readAll().finally(() => { this.#reading = undefined })
    return this.#reading
  }

  async #readAll (): Promise<void> {
    const before = this.#generation
    const rows = await this.#db.select().from(table)
      .where(or(isNull(table.retires_at), gt(table.retires_at, sql`now()`))).orderBy(desc(table.signs_from))
    if (before !== this.#generation) return await this.#readAll()
    this.#known = new Map(rows.map(({ kid, public_key, private_key, signs_from, retires_at }) => [kid, {
      kid,
      publicPem: public_key,
      privatePem: this.#secrets.unseal(private_key, `signing-key/${kid}`).toString(),
      jwk: jwkOf(kid, public_key),
      signsFrom: signs_from.getTime(),
      retiresAt: retires_at?.getTime() ?? Infinity
    }]))
    this.#readAt = this.#now()
  }

  /** Takes a lock: when several processes find no pair, or an old one, only one of them creates a new pair. */
  async #create (creation: Creation): Promise<Rotation | undefined> {
    const rotation = await this.#db.transaction((tx) => this.#insert(tx, creation))
    this.forget()
    await this.#read()
    return rotation
  }

  async #insert (
    tx: Transaction, { besideOthers, atOnce = false, onlyAfterMs = -Infinity, auditRotation }: Creation
  ): Promise<Rotation | undefined> {
    await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.signingKeys})`)
    const [newest] = await tx.select({ signs_from: table.signs_from }).from(table)
      .where(isNull(table.retires_at)).orderBy(desc(table.signs_from)).limit(1)
    if (newest && (!besideOthers || this.#now() - newest.signs_from.getTime() < onlyAfterMs)) return undefined
    const kid = randomUUID()
    const { publicKey, privateKey } = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' }
    })
    const signsFrom = newest && !atOnce ? this.#now() + ANNOUNCED_MS : this.#now()
    const rotation = { kid, signsFrom: new Date(signsFrom) }
    await tx.update(table).set({ retires_at: new Date(atOnce ? this.#now() : signsFrom + OVERLAP_MS) })
      .where(atOnce ? or(isNull(table.retires_at), gt(table.retires_at, sql`now()`)) : isNull(table.retires_at))
    const private_key = this.#secrets.seal(privateKey, `signing-key/${kid}`)
    await tx.insert(table).values({ kid, public_key: publicKey, private_key, signs_from: rotation.signsFrom })
    await tx.execute(sql`select pg_notify(${NOTIFICATION_CHANNEL}, ${`signing:${kid}`})`)
    await auditRotation?.(tx, rotation)
    return rotation
  }
}

function jwkOf (kid: string, pem: string): PublicJwk {
  const { x, y } = createPublicKey(pem).export({ format: 'jwk' })
  return { kty: 'EC', crv: 'P-256', x: x!, y: y!, kid, alg: 'ES256', use: 'sig', key_ops: ['verify'] }
}
