import { sql, type SQL } from 'drizzle-orm'
import type { Day } from '#src/lib/time.ts'
import type { Executor } from '#src/database/connect.ts'
import type { SealOf } from './faults.ts'

/** Keys in memory at a time. */
const BATCH = 500

interface Other { chiave: string, giorno: Day | null, sigillo: Buffer | null, testo: string }

/** A sealed table whose rows belong to no submission. */
interface Table { name: string, key: SQL, first: SQL, day: SQL, fault: (day: Day | null) => string }

const TABLES: readonly Table[] = [
  {
    name: 'ricevute',
    key: sql`giorno`,
    first: sql`'-infinity'::date`,
    day: sql`giorno`,
    fault: (day) => `la ricevuta del ${day} è stata alterata`
  },
  {
    name: 'ricevute_letture',
    key: sql`id`,
    first: sql`0`,
    day: sql`giorno`,
    fault: (day) => `una lettura della ricevuta del ${day} è stata alterata`
  },
  {
    name: 'invii_sospensioni',
    key: sql`id`,
    first: sql`0`,
    day: sql`null::date`,
    fault: () => 'una sospensione è stata alterata'
  }
]

/**
 * Lists the faults of receipts (of the days since `from`), of the looks at them, and of suspensions, in Italian.
 * @returns `undefined` when all is well; `'late'` when the time was over before the end
 */
export async function faultOfOthers (
  db: Executor,
  sealOf: SealOf,
  from: Day | undefined,
  isLate: () => boolean
): Promise<{ motivo: string } | 'late' | undefined> {
  for (const table of TABLES) {
    const ofDays = from === undefined ? sql`true` : sql`coalesce(${table.day} >= ${from}, true)`
    for (let last = table.first, more = true; more;) {
      if (isLate()) return 'late'
      const rows = await readBatch(db, table, last, ofDays)
      const broken = rows.find(({ sigillo, testo }) => sigillo === null || !sigillo.equals(sealOf(testo)))
      if (broken) return { motivo: table.fault(broken.giorno) }
      const end = rows.at(-1)
      more = end !== undefined
      if (end) last = table.name === 'ricevute' ? sql`${end.chiave}::date` : sql`${end.chiave}::integer`
    }
  }
  return undefined
}

/** The rows of the next keys: a day may have receipts of several accounts. */
async function readBatch (db: Executor, table: Table, last: SQL, condition: SQL): Promise<readonly Other[]> {
  const { name, key, day } = table
  const from = sql.identifier(name)
  return db.execute<Other & Record<string, unknown>>(sql`
    select ${key}::text as chiave, ${day}::text as giorno, sigillo,
      testo_da_sigillare(${name}, to_jsonb(r)) as testo
    from ${from} r where ${key} in (
      select distinct ${key} from ${from} where ${key} > ${last} and ${condition} order by 1 limit ${BATCH})
    order by ${key}`)
}
