import { and, eq, isNotNull, lte, sql, type SQL } from 'drizzle-orm'
import { forgotten_answers as forgotten, idempotency_keys as keys } from '#drizzle/tables/idempotency.ts'
import type { Database, Transaction } from '../database/connect.ts'

/** Answers about things that are gone. */
export interface AnswersAbout {
  /** Where what was created is: paths, as `location` has them. */
  locations?: readonly string[]
  /** Or what an answer says in its JSON: a regular expression of PostgreSQL, whose group finds the name of a thing. */
  said?: string
  /** The names of the things that are gone. */
  names?: readonly (string | number)[]
  /**
   * Another thing may take the name in the same transaction, as an image takes that of the one before: answers that are
   * not stored yet may be about that one, and stay.
   */
  isReplaceable?: boolean
}

/** Forgets what stored answers say of things that are gone. What was done is not done twice: see ChiaveEseguita. */
export type ForgetAnswers = (tx: Transaction, about: AnswersAbout) => Promise<void>

/** Since when, in PostgreSQL's words, a request that was under way has ended: none takes half as long. */
const ENDED = "now() - interval '5 minutes'"
/** In one transaction. */
const BATCH = 100

export const forgetAnswers: ForgetAnswers = async (tx, { locations = [], said = null, names = [], isReplaceable }) => {
  const about = { locations: [...locations], said, names: names.map(String) }
  await dropAnswers(tx, about)
  if (isReplaceable || about.locations.length + about.names.length === 0) return
  await tx.insert(forgotten).values(about)
}

/**
 * Forgets the answers of requests that were under way when what they tell of went: they were stored after it. Only a
 * request that began before could do anything with the thing.
 */
export async function forgetLateAnswers (db: Database): Promise<void> {
  const isDue = lte(forgotten.forgotten_at, sql.raw(ENDED))
  for (let count = BATCH; count === BATCH;) {
    count = await db.transaction(async (tx) => {
      const due = await tx.select().from(forgotten).where(isDue).limit(BATCH).for('update', { skipLocked: true })
      for (const { id, forgotten_at, ...about } of due) {
        await dropAnswers(tx, about, lte(keys.created_at, forgotten_at))
        await tx.delete(forgotten).where(eq(forgotten.id, id))
      }
      return due.length
    })
  }
}

async function dropAnswers (
  tx: Transaction, { locations, said, names }: Pick<typeof forgotten.$inferSelect, 'locations' | 'said' | 'names'>,
  which?: SQL
): Promise<void> {
  const values = sql`regexp_matches(${keys.body}, ${said}, 'g') as found(groups)`
  await tx.update(keys).set({ body: null }).where(and(which, isNotNull(keys.body), sql`(
    ${keys.headers} ->> 'location' = any(${arrayOf(locations)}::text[])
    or exists (select from ${values} where found.groups[1] = any(${arrayOf(names)}::text[])))`))
}

/** One parameter, however many values there are: an array as PostgreSQL writes it, every value in quotes. */
function arrayOf (values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/["\\]/g, '\\$&')}"`).join()}}`
}
