import { randomUUID } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import pino from 'pino'
import t from 'tap'
import { seen_sessions } from '#drizzle/tables/identity.ts'
import { seenSessions } from '#src/identity/external/seen-sessions.ts'
import { changeFeed, type ChangeListener } from '#src/plugins/changes.ts'
import { LOCKS } from '#src/plugins/database/locks.ts'
import { testDatabase, type TestDatabase } from '#test/database.ts'

const CLIENT = { ip: '192.0.2.7', user_agent: 'prova' }
const log = pino({ level: 'silent' })

/** The record of one process; it hears what others do. */
async function record ({ db, sql }: TestDatabase) {
  const heard: { id: string, tell: () => void }[] = []
  const changes: ChangeListener = changeFeed(sql, log).subscribe({
    session: (id) => {
      seen.onChange(id)
      for (const each of heard) if (each.id === id) each.tell()
    }
  }, () => {})
  const seen = seenSessions(db, log, () => changes)
  await changes.ready()
  return { seen, hears: (id: string) => new Promise<void>((resolve) => { heard.push({ id, tell: resolve }) }) }
}

function session (userId: string = randomUUID()) {
  return { userId, sessionId: randomUUID(), expiresAt: Date.now() + 3_600_000 }
}

t.test('the record of sessions that were seen', async (t) => {
  const database = await testDatabase(t)
  const { db } = database
  const [here, elsewhere] = [await record(database), await record(database)]
  const rows = async (id: string) => await db.select().from(seen_sessions).where(eq(seen_sessions.id, id))
  const never = async () => {
    t.fail('nobody is asked')
    return false
  }

  t.test(
    'a session accepted while all of its person are being revoked is asked about, and not cached',
    async (t) => {
      const [late, other] = [session(), session()]
      other.userId = late.userId
      const told = [here, elsewhere].map(({ hears }) => hears(late.userId))
      await db.transaction(async (tx) => {
        // Whoever revokes is first in the queue; the session is looked up before the end, and would be noted after it.
        await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.seenSessions}::int, hashtext(${late.userId}))`)
        for (const { seen } of [here, elsewhere]) {
          t.same(await seen.recordUse(late, CLIENT, async () => true), { userId: late.userId, isRevoked: false })
          t.ok(seen.cached(late.sessionId))
        }
        t.equal(await here.seen.endAll(tx, other, CLIENT), 1)
      })
      await Promise.all(told)
      for (const { seen } of [here, elsewhere]) {
        await seen.flush()
        t.equal(seen.cached(late.sessionId), undefined)
        t.same(await rows(late.sessionId), [])
        let asked = 0
        const isOver = async () => {
          asked++
          return false
        }
        t.same(await seen.recordUse(late, CLIENT, isOver), { userId: late.userId, isRevoked: true })
        t.equal(asked, 1)
        t.same(await rows(late.sessionId), [])
      }
    }
  )

  t.test('a session recorded while all of its person are being revoked is revoked with them', async (t) => {
    const [early, other] = [session(), session()]
    other.userId = early.userId
    await here.seen.recordUse(early, CLIENT, async () => true)
    await here.seen.flush()
    t.equal(await db.transaction((tx) => elsewhere.seen.endAll(tx, other, CLIENT)), 2)
    t.match(await rows(early.sessionId), [{ revoked_at: Date }])
    t.equal(await here.seen.isRevoked(early.sessionId), true)
    t.equal(await here.seen.isRevoked(randomUUID()), false)
  })

  t.test(
    'the provider is asked once about a session after a revocation, and only while older tokens can be good',
    async (t) => {
      const first = session()
      await here.seen.recordUse(first, CLIENT, never)
      await here.seen.flush()
      await db.transaction((tx) => here.seen.endAll(tx, first, CLIENT))
      const next = session(first.userId)
      let asked = 0
      const isAlive = async () => {
        asked++
        return true
      }
      t.match(await here.seen.recordUse(next, CLIENT, isAlive), { isRevoked: false })
      await here.seen.flush()
      t.match(await here.seen.recordUse(next, CLIENT, isAlive), { isRevoked: false })
      t.equal(asked, 1)
      t.match(await here.seen.list(first.userId), [{ id: next.sessionId, user_agent: 'prova', ip: '192.0.2.7' }])
      await db
        .update(seen_sessions)
        .set({ revoked_at: sql`now() - interval '26 hours'` })
        .where(eq(seen_sessions.id, first.userId))
      t.match(await here.seen.recordUse(session(first.userId), CLIENT, isAlive), { isRevoked: false })
      t.equal(asked, 1)
    }
  )

  t.test('a session is not accepted without the provider’s answer', async (t) => {
    const first = session()
    await db.transaction((tx) => here.seen.endAll(tx, first, CLIENT))
    const next = session(first.userId)
    await t.rejects(here.seen.recordUse(next, CLIENT, async () => { throw new Error('giù') }), { message: 'giù' })
    t.equal(here.seen.cached(next.sessionId), undefined)
    t.same(await rows(next.sessionId), [])
  })

  t.test('a second revocation counts the sessions that have begun since the first', async (t) => {
    const [first, second] = [session(), session()]
    second.userId = first.userId
    t.equal(await db.transaction((tx) => here.seen.endAll(tx, first, CLIENT)), 1)
    const [{ revoked_at: before } = { revoked_at: null }] = await rows(first.userId)
    await here.seen.recordUse(second, CLIENT, async () => true)
    await here.seen.flush()
    t.equal(await db.transaction((tx) => here.seen.endAll(tx, second, CLIENT)), 1)
    const [{ revoked_at: after } = { revoked_at: null }] = await rows(first.userId)
    t.ok(after! > before!)
  })

  t.test('a session that the provider has ended is refused here and in other processes, recorded or not', async (t) => {
    const [known, unknown] = [session(), session()]
    for (const { seen } of [elsewhere, here]) {
      await seen.recordUse(known, CLIENT, async () => true)
      await seen.flush()
    }
    const told = elsewhere.hears(known.sessionId)
    for (const each of [known, unknown]) {
      await here.seen.end(each)
      t.equal(here.seen.cached(each.sessionId), undefined)
      t.match(await here.seen.recordUse(each, CLIENT, async () => true), { isRevoked: true })
    }
    await told
    t.equal(elsewhere.seen.cached(known.sessionId), undefined)
    t.same(await here.seen.list(known.userId), [])
  })
})
