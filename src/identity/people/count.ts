import { isNull } from 'drizzle-orm'
import { sessions, users } from '#drizzle/tables/identity.ts'
import type { Executor } from '#src/database/connect.ts'
import { liveSession } from '../sign-in/sessions.ts'

/** How many accounts there are, and how many sessions that have not ended. */
export async function countPeople (db: Executor): Promise<{ users: number, sessions: number }> {
  return { users: await db.$count(users, isNull(users.deleted_at)), sessions: await db.$count(sessions, liveSession) }
}
