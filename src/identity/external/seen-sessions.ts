import { and, desc, eq, gt, inArray, isNotNull, isNull, lt, or, sql } from 'drizzle-orm'
import type { FastifyBaseLogger } from 'fastify'
import { seen_sessions as table } from '#drizzle/tables/identity.ts'
import type { Database, Executor, Transaction } from '#src/database/connect.ts'
import { deleteInBatches } from '#src/database/delete-in-batches.ts'
import { LOCKS } from '#src/database/locks.ts'
import type { VerifiedToken } from '../tokens/bearer.ts'
import type { NotificationListener } from '#src/database/notifications.ts'
import type { Client } from '../sign-in/person-sessions.ts'
import { rowCache, type RowCache } from '../row-cache.ts'

export interface SeenSession { userId: string, isRevoked: boolean }

export type SessionRef = Pick<VerifiedToken, 'userId' | 'sessionId'>

type SeenRow = typeof table.$inferSelect

const RECORD_EVERY_MS = 60_000
/** The expiry of a recorded revocation. By then every token from before it is rejected as older than a day. */
const REVOKED_UNTIL = sql`now() + interval '25 hours'`
const REVOKED_FOR_MS = 25 * 3_600_000
/** Rows are deleted this long after their expiry. */
const KEPT = sql`interval '30 days'`

/**
 * The sessions of the external provider whose tokens this server has seen. The provider's tokens stay valid until they
 * expire, even after their session has ended. This server rejects them after it has recorded the session as revoked.
 *
 * A row whose id is the person's id records when all sessions of the person were revoked. For 25 hours after that time,
 * this server asks the provider about each session that it sees for the first time.
 */
export class SeenSessions {
  readonly #db: Database
  readonly #log: FastifyBaseLogger
  readonly #cache: RowCache<SeenSession>
  readonly #writing = new Set<Promise<void>>()
  readonly #find

  constructor (db: Database, log: FastifyBaseLogger, notifications: () => NotificationListener) {
    this.#db = db
    this.#log = log
    this.#cache = rowCache<SeenSession>(notifications)
    this.#find = db.select().from(table)
      .where(inArray(table.id, [sql.placeholder('session'), sql.placeholder('user')])).prepare('seen_session')
  }

  /** The cached record of a session. Undefined when it is not cached. */
  cached (sessionId: string): SeenSession | undefined {
    return this.#cache.get(sessionId)
  }

  /**
   * Reads the record of a session. Records a new session, or the use of a known one at most once a minute, in the
   * background.
   * @param isAccepted asks the provider whether it accepts the token
   */
  async recordUse (token: VerifiedToken, client: Client, isAccepted: () => Promise<boolean>): Promise<SeenSession> {
    const { sessionId, userId } = token
    return await this.#cache.read(sessionId, async () => {
      const rows = await this.#find.execute({ session: sessionId, user: userId })
      const row = rows.find(({ id }) => id === sessionId)
      const allRevokedAt = rows.find(({ id }) => id === userId)?.revoked_at ?? null
      if (row) {
        if (row.revoked_at === null && Date.now() - row.updated_at.getTime() > RECORD_EVERY_MS) {
          this.#writeInBackground(this.#update(token, client))
        }
        return { userId: row.user_id, isRevoked: row.revoked_at !== null }
      }
      const isDoubtful = allRevokedAt !== null && Date.now() - allRevokedAt.getTime() < REVOKED_FOR_MS
      if (isDoubtful && !await isAccepted()) return { userId, isRevoked: true }
      this.#writeInBackground(this.#insert(token, client, allRevokedAt))
      return { userId, isRevoked: false }
    })
  }

  /** A person's active sessions, most recently used first. */
  async list (userId: string): Promise<SeenRow[]> {
    await this.flush()
    return await this.#db.select().from(table)
      .where(and(eq(table.user_id, userId), isNull(table.revoked_at), gt(table.expires_at, sql`now()`)))
      .orderBy(desc(table.updated_at), desc(table.created_at))
  }

  async isRevoked (sessionId: string): Promise<boolean> {
    return await this.#db.$count(table, and(eq(table.id, sessionId), isNotNull(table.revoked_at))) > 0
  }

  async end ({ userId, sessionId }: SessionRef): Promise<void> {
    await this.flush()
    const now = sql`now()`
    await this.#db.insert(table).values({ id: sessionId, user_id: userId, expires_at: REVOKED_UNTIL, revoked_at: now })
      .onConflictDoUpdate({ target: table.id, set: { revoked_at: now }, setWhere: isNull(table.revoked_at) })
    this.onChange(sessionId)
  }

  /** Records that all sessions of a person have ended, including the given one. Returns how many were active. */
  async endAll (tx: Transaction, { userId, sessionId }: SessionRef, client: Client): Promise<number> {
    await lockPerson(tx, userId)
    const ends = { user_id: userId, expires_at: REVOKED_UNTIL }
    await tx.insert(table).values([{ id: userId, ...ends }, { id: sessionId, ...ends, ...client }])
      .onConflictDoNothing()
    // Update even the rows that were just inserted, because the database does not notify inserts to other processes.
    const ended = await tx.update(table)
      .set({
        revoked_at: sql`clock_timestamp()`,
        expires_at: sql`case when ${table.id} = ${table.user_id} then ${REVOKED_UNTIL} else ${table.expires_at} end`
      })
      .where(and(eq(table.user_id, userId), or(isNull(table.revoked_at), eq(table.id, userId))))
      .returning({ id: table.id, isLive: sql<boolean>`${table.expires_at} > now()` })
    return ended.filter(({ id, isLive }) => isLive && id !== userId).length
  }

  /** Makes `endAll` of the person wait for this transaction. Returns false if the session is already revoked. */
  async lock (tx: Transaction, { userId, sessionId }: SessionRef): Promise<boolean> {
    await lockPerson(tx, userId)
    return (await tx.$count(table, and(eq(table.id, sessionId), isNotNull(table.revoked_at)))) === 0
  }

  onChange (id: string): void {
    this.#cache.drop((sessionId, { userId }) => sessionId === id || userId === id)
  }

  clear (): void {
    this.#cache.drop(() => true)
  }

  async flush (): Promise<void> {
    await Promise.all(this.#writing)
  }

  async deleteOld (): Promise<void> {
    await deleteInBatches(this.#db, table, lt(table.expires_at, sql`now() - ${KEPT}`))
  }

  /** Writes without making the caller wait. After a failed write, the next uncached read of the session repeats it. */
  #writeInBackground (work: Promise<unknown>): void {
    const done = work.then(() => {}, (err: unknown) => this.#log.warn({ err }, 'a session could not be recorded'))
      .finally(() => this.#writing.delete(done))
    this.#writing.add(done)
  }

  /** @param allRevokedAt the time when all sessions were last revoked, read before this session was accepted */
  async #insert (
    { sessionId, userId, expiresAt }: VerifiedToken, client: Client, allRevokedAt: Date | null
  ): Promise<void> {
    await this.#db.transaction(async (tx) => {
      await lockPerson(tx, userId)
      const [now] = await tx.select({ revoked_at: table.revoked_at }).from(table).where(eq(table.id, userId))
      // If all sessions were revoked meanwhile, the next request of this session asks the provider.
      if ((now?.revoked_at ?? null)?.getTime() !== allRevokedAt?.getTime()) return
      await tx.insert(table)
        .values({ id: sessionId, user_id: userId, expires_at: new Date(expiresAt), ...client }).onConflictDoNothing()
    })
  }

  async #update ({ sessionId, expiresAt }: VerifiedToken, client: Client): Promise<void> {
    const expires_at = sql`greatest(${table.expires_at}, ${new Date(expiresAt).toISOString()}::timestamptz)`
    await this.#db.update(table).set({ ...client, updated_at: sql`now()`, expires_at })
      .where(and(eq(table.id, sessionId), isNull(table.revoked_at)))
  }
}

/** Serializes the first record of a session with the revocation of all sessions of the person. */
async function lockPerson (tx: Executor, userId: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.seenSessions}::int, hashtext(${userId}))`)
}
