import { and, eq, gte, isNotNull, lte, or, sql, type SQL } from 'drizzle-orm'
import { forgotten_answers as forgotten, idempotency_keys as keys } from '#drizzle/tables/idempotency.ts'
import type { Database, Transaction } from '#src/database/connect.ts'

/** Answers about things that are gone. */
export interface AnswersAbout {
  /** Where what was created is: paths, as `location` has them. */
  locations?: readonly string[]
  /** Or what an answer says in its JSON: a regular expression of PostgreSQL, whose group finds the name of a thing. */
  said?: string
  /** The names of the things that are gone. */
  names?: readonly (string | number)[]
  /** Another thing may have the name later, as no other one ever has an id: what begins then is about that one. */
  isReusable?: boolean
  /** Another thing takes the name in this very transaction: what is stored from now on is about that one. */
  isReplaced?: boolean
}

/** Forgets what stored answers say of things that are gone. What was done is not done twice: see ChiaveEseguita. */
export type ForgetAnswers = (tx: Transaction, about: AnswersAbout) => Promise<void>

type About = Pick<typeof forgotten.$inferSelect, 'locations' | 'said' | 'names'>

/** In PostgreSQL's words: a request that is under way ends within half of it. */
const WHILE = sql.raw("interval '5 minutes'")

export const forgetAnswers: ForgetAnswers = async (
  tx, { locations = [], said = null, names = [], isReusable = false, isReplaced = false }
) => {
  const about = { locations: [...locations], said, names: names.map(String) }
  if (about.locations.length + about.names.length === 0) return
  await dropAnswers(tx, about)
  if (!isReplaced) await tx.insert(forgotten).values({ ...about, reusable: isReusable })
}

/**
 * Forgets the answers of requests that were under way when what they tell of went, and that were stored after it. Of a
 * name that another thing may have only those of requests that had begun by then. Each entry is a transaction of its
 * own: one that fails keeps no other from being carried out.
 * @throws AggregateError of what failed
 */
export async function forgetLateAnswers (db: Database): Promise<void> {
  const due = await db.select().from(forgotten).where(lte(forgotten.forgotten_at, sql`now() - ${WHILE}`))
    .orderBy(forgotten.id)
  const failures: unknown[] = []
  for (const { id, forgotten_at, reusable, ...about } of due) {
    await db.transaction(async (tx) => {
      // What was answered before is no longer under way, unless it was told from what it had begun.
      const since = sql`${forgotten_at}::timestamptz - ${WHILE}`
      const mayBeLate = or(gte(keys.created_at, since), isNotNull(keys.reference))
      await dropAnswers(tx, about, and(mayBeLate, reusable ? lte(keys.created_at, forgotten_at) : undefined))
      await tx.delete(forgotten).where(eq(forgotten.id, id))
    }).catch((err: unknown) => failures.push(err))
  }
  if (failures.length > 0) throw new AggregateError(failures, 'late answers could not be forgotten')
}

async function dropAnswers (tx: Transaction, { locations, said, names }: About, which?: SQL): Promise<void> {
  const values = sql`regexp_matches(${keys.body}, ${said}, 'g') as found(groups)`
  await tx.update(keys).set({ body: null }).where(and(which, isNotNull(keys.body), sql`(
    ${keys.headers} ->> 'location' = any(${arrayOf(locations)}::text[])
    or exists (select from ${values} where found.groups[1] = any(${arrayOf(names)}::text[])))`))
}

/** One parameter, however many values there are: an array as PostgreSQL writes it, every value in quotes. */
function arrayOf (values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/["\\]/g, '\\$&')}"`).join()}}`
}
