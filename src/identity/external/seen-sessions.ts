import { and, desc, eq, gt, inArray, isNull, lt, or, sql } from 'drizzle-orm'
import type { FastifyBaseLogger } from 'fastify'
import { seen_sessions as table } from '#drizzle/tables/identity.ts'
import type { Database, Executor, Transaction } from '#src/plugins/database/connect.ts'
import { LOCKS } from '#src/plugins/database/locks.ts'
import type { Verified } from '../tokens/bearer.ts'
import type { Changes } from '../changes.ts'
import type { Client } from '../sign-in/sessions.ts'
import { remembered } from './remembered.ts'

/** What is on record of a session. */
export interface Seen { userId: string, isRevoked: boolean }

export type SeenRow = typeof table.$inferSelect

/**
 * The sessions of the external provider whose tokens were seen here. Its tokens are good until they expire, whatever
 * has become of their session; here they are refused from the moment at which the record says that it was revoked.
 *
 * A row under a person's own id says when all of their sessions were revoked: one that turns up only after that is
 * asked about at the provider.
 */
export interface SeenSessions {
  /** What is remembered, at once; undefined: look. */
  remembered (sessionId: string): Seen | undefined
  /**
   * What is on record; a session that is new is put there, without being waited for. @param isAlive asks the provider
   */
  look (subject: Verified, client: Client, isAlive: () => Promise<boolean>): Promise<Seen>
  /** A person's sessions that go on, the latest first. */
  list (userId: string): Promise<SeenRow[]>
  isRevoked (sessionId: string): Promise<boolean>
  /** The provider says that this one has ended. */
  end (session: Pick<Verified, 'userId' | 'sessionId'>): Promise<void>
  /** All of a person's have ended, the one that says so too. Returns how many were going on. */
  endAll (tx: Transaction, session: Pick<Verified, 'userId' | 'sessionId'>, client: Client): Promise<number>
  changed (id: string): void
  forget (): void
  /** Resolves when everything seen so far is on record. */
  written (): Promise<void>
  /** Deletes what has been over for a month. */
  clear (): Promise<void>
}

const NOTED_EVERY_MS = 60_000
/** No token that is older than a day is taken: after this a revocation has nothing more to refuse. */
const REFUSED_FOR = sql`now() + interval '25 hours'`
const REFUSED_FOR_MS = 25 * 3_600_000
const KEPT = sql`interval '30 days'`

export function seenSessions (db: Database, log: FastifyBaseLogger, changes: () => Changes): SeenSessions {
  const memory = remembered<Seen>(changes)
  const writing = new Set<Promise<void>>()
  const find = db
    .select()
    .from(table)
    .where(inArray(table.id, [sql.placeholder('session'), sql.placeholder('user')]))
    .prepare('seen_session')

  return {
    remembered: (sessionId) => memory.get(sessionId),

    async look (subject, client, isAlive) {
      const { sessionId, userId } = subject
      const seen = await memory.read(sessionId, async () => {
        const rows = await find.execute({ session: sessionId, user: userId })
        const row = rows.find(({ id }) => id === sessionId)
        const cut = rows.find(({ id }) => id === userId)?.revoked_at ?? null
        if (row) {
          if (row.revoked_at === null && Date.now() - row.updated_at.getTime() > NOTED_EVERY_MS) {
            write(noteAgain(subject, client))
          }
          return { userId: row.user_id, isRevoked: row.revoked_at !== null }
        }
        const isDoubtful = cut !== null && Date.now() - cut.getTime() < REFUSED_FOR_MS
        if (isDoubtful && !await isAlive()) return { userId, isRevoked: true }
        write(noteFirst(subject, client, cut))
        return { userId, isRevoked: false }
      })
      return seen!
    },

    async list (userId) {
      await this.written()
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
      await this.written()
      await db.insert(table).values({ id: sessionId, user_id: userId, expires_at: REFUSED_FOR, revoked_at: sql`now()` })
        .onConflictDoUpdate({ target: table.id, set: { revoked_at: sql`now()` }, setWhere: isNull(table.revoked_at) })
      this.changed(sessionId)
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
      // An update, also of what was only just inserted: that is what the other processes are told of.
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

    changed: (id) => memory.drop((sessionId, { userId }) => sessionId === id || userId === id),
    forget: () => memory.drop(() => true),
    written: async () => { await Promise.all(writing) },
    clear: async () => { await db.delete(table).where(lt(table.expires_at, sql`now() - ${KEPT}`)) }
  }

  /** Nobody waits for it: a session that is not on record yet is noted at its next request. */
  function write (note: Promise<unknown>) {
    const done = note
      .then(
        () => {},
        (err: unknown) => log.warn({ err }, 'a session was not noted')
      )
      .finally(() => writing.delete(done))
    writing.add(done)
  }

  /** @param cut when all were last revoked, as far as was known when this one was let in */
  async function noteFirst ({ sessionId, userId, expiresAt }: Verified, client: Client, cut: Date | null) {
    await db.transaction(async (tx) => {
      await lockPerson(tx, userId)
      const [now] = await tx.select({ revoked_at: table.revoked_at }).from(table).where(eq(table.id, userId))
      // Revoked in between: its next request is asked about.
      if ((now?.revoked_at ?? null)?.getTime() !== cut?.getTime()) return
      await tx
        .insert(table)
        .values({ id: sessionId, user_id: userId, expires_at: new Date(expiresAt), ...client })
        .onConflictDoNothing()
    })
  }

  async function noteAgain ({ sessionId, expiresAt }: Verified, client: Client) {
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

/** A session that begins to be seen and the end of all of them queue, so that neither is missed by the other. */
async function lockPerson (tx: Executor, userId: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.seenSessions}::int, hashtext(${userId}))`)
}
