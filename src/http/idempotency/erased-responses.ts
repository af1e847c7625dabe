import { and, eq, gte, isNotNull, lte, or, sql, type SQL } from 'drizzle-orm'
import { forgotten_answers as forgotten, idempotency_keys as keys } from '#drizzle/tables/idempotency.ts'
import type { Database, Transaction } from '#src/database/connect.ts'

/** Selects the stored responses about deleted resources. */
interface ResponsesAbout {
  /** Paths of the deleted resources, in the form of `location` headers. */
  locations?: readonly string[]
  /** A PostgreSQL regular expression for the response body. Its group captures the name of a resource. */
  said?: string
  /** The names of the deleted resources. */
  names?: readonly (string | number)[]
  /** Whether the name can be reused. If so, requests that start after the deletion concern the new resource. */
  isReusable?: boolean
  /** Whether another resource takes the name in this transaction. Later responses concern that resource. */
  isReplaced?: boolean
}

/** Erases stored responses about deleted resources. The requests are still not executed again: see ChiaveEseguita. */
export type EraseResponses = (tx: Transaction, about: ResponsesAbout) => Promise<void>

type About = Pick<typeof forgotten.$inferSelect, 'locations' | 'said' | 'names'>

/** Longer than any request takes, as an SQL interval. */
const REQUEST_TIME = sql.raw("interval '5 minutes'")

export const eraseResponses: EraseResponses = async (
  tx, { locations = [], said = null, names = [], isReusable = false, isReplaced = false }
) => {
  const about = { locations: [...locations], said, names: names.map(String) }
  if (about.locations.length + about.names.length === 0) return
  await deleteResponses(tx, about)
  if (!isReplaced) await tx.insert(forgotten).values({ ...about, reusable: isReusable })
}

/**
 * Erases responses about a deleted resource that requests in progress have stored after the deletion. For a reusable
 * name, only responses to requests that had started before the deletion are erased. Each deletion is handled in its own
 * transaction, so that a failure does not stop the others.
 * @throws AggregateError of the failures
 */
export async function eraseLateResponses (db: Database): Promise<void> {
  const due = await db.select().from(forgotten).where(lte(forgotten.forgotten_at, sql`now() - ${REQUEST_TIME}`))
    .orderBy(forgotten.id)
  const failures: unknown[] = []
  for (const { id, forgotten_at, reusable, ...about } of due) {
    await db.transaction(async (tx) => {
      // Requests that began earlier have ended. Only a retry that uses the reference of such a request may still run.
      const since = sql`${forgotten_at}::timestamptz - ${REQUEST_TIME}`
      const mayBeLate = or(gte(keys.created_at, since), isNotNull(keys.reference))
      await deleteResponses(tx, about, and(mayBeLate, reusable ? lte(keys.created_at, forgotten_at) : undefined))
      await tx.delete(forgotten).where(eq(forgotten.id, id))
    }).catch((err: unknown) => failures.push(err))
  }
  if (failures.length > 0) throw new AggregateError(failures, 'late responses could not be erased')
}

async function deleteResponses (tx: Transaction, { locations, said, names }: About, which?: SQL): Promise<void> {
  const values = sql`regexp_matches(${keys.body}, ${said}, 'g') as found(groups)`
  await tx.update(keys).set({ body: null }).where(and(which, isNotNull(keys.body), sql`(
    ${keys.headers} ->> 'location' = any(${arrayOf(locations)}::text[])
    or exists (select from ${values} where found.groups[1] = any(${arrayOf(names)}::text[])))`))
}

/** Encodes values as a PostgreSQL array literal, so that one parameter contains all of them. Every value is quoted. */
function arrayOf (values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/["\\]/g, '\\$&')}"`).join()}}`
}
