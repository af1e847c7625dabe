import { and, desc, eq, gt, inArray, isNotNull, isNull, lt, or, sql } from 'drizzle-orm'
import type { FastifyBaseLogger } from 'fastify'
import { seen_sessions as table } from '#drizzle/tables/identity.ts'
import type { Database, Executor, Transaction } from '#src/database/connect.ts'
import { deleteInBatches } from '#src/database/delete-in-batches.ts'
import { LOCKS } from '#src/database/locks.ts'
import type { VerifiedToken } from '../tokens/bearer.ts'
import type { ChangeListener } from '#src/database/changes.ts'
import type { Client } from '../sign-in/sessions.ts'
import { rowCache } from '../row-cache.ts'

/** What is recorded of a session. */
export interface SeenSession { userId: string, isRevoked: boolean }

export type SessionRef = Pick<VerifiedToken, 'userId' | 'sessionId'>

export type SeenRow = typeof table.$inferSelect

/**
 * The sessions of the external provider whose tokens this server has seen. The provider's tokens stay good until they
 * expire, even when their session has ended; this server refuses them as soon as the session is recorded as revoked.
 *
 * A row whose id is the person's own id says when all of their sessions were revoked: about a session that is first
 * seen after that, the provider is asked.
 */
export interface SeenSessions {
  /** The cached record of a session, at once; undefined when it must be read. */
  cached (sessionId: string): SeenSession | undefined
  /**
   * Reads the record of a session. A new session, or a new use of one, is recorded in the background.
   * @param isAccepted asks the provider whether it accepts the token
   */
  recordUse (token: VerifiedToken, client: Client, isAccepted: () => Promise<boolean>): Promise<SeenSession>
  /** A person's sessions that have not ended, the latest first. */
  list (userId: string): Promise<SeenRow[]>
  isRevoked (sessionId: string): Promise<boolean>
  /** Records that the provider has ended this session. */
  end (session: SessionRef): Promise<void>
  /** Records that all sessions of a person have ended, this one too. Returns how many had not ended before. */
  endAll (tx: Transaction, session: SessionRef, client: Client): Promise<number>
  /** Whether a session is not recorded as revoked; until the transaction ends it is not. */
  lock (tx: Transaction, session: SessionRef): Promise<boolean>
  /** Drops what has changed from the cache. */
  onChange (id: string): void
  /** Empties the cache. */
  clear (): void
  /** Resolves when everything that was seen so far is recorded. */
  flush (): Promise<void>
  /** Deletes the sessions that ended a month ago. */
  deleteOld (): Promise<void>
}

const RECORD_EVERY_MS = 60_000
/** No token older than a day is accepted: after this a revocation has no more tokens to refuse. */
const REFUSED_FOR = sql`now() + interval '25 hours'`
const REFUSED_FOR_MS = 25 * 3_600_000
const KEPT = sql`interval '30 days'`

export function seenSessions (db: Database, log: FastifyBaseLogger, changes: () => ChangeListener): SeenSessions {
  const cache = rowCache<SeenSession>(changes)
  const writing = new Set<Promise<void>>()
  const find = db
    .select()
    .from(table)
    .where(inArray(table.id, [sql.placeholder('session'), sql.placeholder('user')]))
    .prepare('seen_session')

  return {
    cached: (sessionId) => cache.get(sessionId),

    async recordUse (token, client, isAccepted) {
      const { sessionId, userId } = token
      return await cache.read(sessionId, async () => {
        const rows = await find.execute({ session: sessionId, user: userId })
        const row = rows.find(({ id }) => id === sessionId)
        const allRevokedAt = rows.find(({ id }) => id === userId)?.revoked_at ?? null
        if (row) {
          if (row.revoked_at === null && Date.now() - row.updated_at.getTime() > RECORD_EVERY_MS) {
            writeInBackground(updateSession(token, client))
          }
          return { userId: row.user_id, isRevoked: row.revoked_at !== null }
        }
        const isDoubtful = allRevokedAt !== null && Date.now() - allRevokedAt.getTime() < REFUSED_FOR_MS
        if (isDoubtful && !await isAccepted()) return { userId, isRevoked: true }
        writeInBackground(insertSession(token, client, allRevokedAt))
        return { userId, isRevoked: false }
      })
    },

    async list (userId) {
      await this.flush()
      return await db
        .select()
        .from(table)
        .where(and(eq(table.user_id, userId), isNull(table.revoked_at), gt(table.expires_at, sql`now()`)))
        .orderBy(desc(table.updated_at), desc(table.created_at))
    },

    async isRevoked (sessionId) {
      const [row] = await db.select({ revoked_at: table.revoked_at }).from(table).where(eq(table.id, sessionId))
      return row !== undefined && row.revoked_at !== null
    },

    async end ({ userId, sessionId }) {
      await this.flush()
      await db.insert(table).values({ id: sessionId, user_id: userId, expires_at: REFUSED_FOR, revoked_at: sql`now()` })
        .onConflictDoUpdate({ target: table.id, set: { revoked_at: sql`now()` }, setWhere: isNull(table.revoked_at) })
      this.onChange(sessionId)
    },

    async endAll (tx, { userId, sessionId }, client) {
      await lockPerson(tx, userId)
      const ends = { user_id: userId, expires_at: REFUSED_FOR }
      await tx
        .insert(table)
        .values([
          { id: userId, ...ends },
          { id: sessionId, ...ends, ...client }
        ])
        .onConflictDoNothing()
      // An update, also of the rows that were only just inserted: the trigger reports updates to the other processes.
      const ended = await tx
        .update(table)
        .set({
          revoked_at: sql`clock_timestamp()`,
          expires_at: sql`case when ${table.id} = ${table.user_id} then ${REFUSED_FOR} else ${table.expires_at} end`
        })
        .where(and(eq(table.user_id, userId), or(isNull(table.revoked_at), eq(table.id, userId))))
        .returning({ id: table.id, isLive: sql<boolean>`${table.expires_at} > now()` })
      return ended.filter(({ id, isLive }) => isLive && id !== userId).length
    },

    async lock (tx, { userId, sessionId }) {
      await lockPerson(tx, userId)
      return (await tx.$count(table, and(eq(table.id, sessionId), isNotNull(table.revoked_at)))) === 0
    },

    onChange: (id) => cache.drop((sessionId, { userId }) => sessionId === id || userId === id),
    clear: () => cache.drop(() => true),
    flush: async () => { await Promise.all(writing) },
    deleteOld: async () => { await deleteInBatches(db, table, lt(table.expires_at, sql`now() - ${KEPT}`)) }
  }

  /** Not awaited: a session whose record fails is recorded at its next request. */
  function writeInBackground (work: Promise<unknown>) {
    const done = work
      .then(
        () => {},
        (err: unknown) => log.warn({ err }, 'a session could not be recorded')
      )
      .finally(() => writing.delete(done))
    writing.add(done)
  }

  /** @param allRevokedAt when all sessions were last revoked, as it was read before this session was accepted */
  async function insertSession (
    { sessionId, userId, expiresAt }: VerifiedToken,
    client: Client,
    allRevokedAt: Date | null
  ) {
    await db.transaction(async (tx) => {
      await lockPerson(tx, userId)
      const [now] = await tx.select({ revoked_at: table.revoked_at }).from(table).where(eq(table.id, userId))
      // All were revoked in between: at the next request of the session the provider is asked.
      if ((now?.revoked_at ?? null)?.getTime() !== allRevokedAt?.getTime()) return
      await tx
        .insert(table)
        .values({ id: sessionId, user_id: userId, expires_at: new Date(expiresAt), ...client })
        .onConflictDoNothing()
    })
  }

  async function updateSession ({ sessionId, expiresAt }: VerifiedToken, client: Client) {
    await db
      .update(table)
      .set({
        ...client,
        updated_at: sql`now()`,
        expires_at: sql`greatest(${table.expires_at}, ${new Date(expiresAt).toISOString()}::timestamptz)`
      })
      .where(and(eq(table.id, sessionId), isNull(table.revoked_at)))
  }
}

/** Makes the first record of a session and the end of all sessions of its person wait for each other. */
async function lockPerson (tx: Executor, userId: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.seenSessions}::int, hashtext(${userId}))`)
}
