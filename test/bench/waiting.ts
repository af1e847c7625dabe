import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'

/** The longest that a statement took, and of which kind on which table it was. */
export interface Longest { ms: number, what: string }

const EVERY_MS = 50

/**
 * Reads and writes one row of each table again and again, each over a connection of its own, as clients of the server
 * would who are there all the time.
 */
export async function watchTables (url: string, tables: readonly string[]) {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  const statements = await Promise.all(tables.map(async (table) => [
    { what: `reading ${table}`, text: `select * from ${table} limit 1` },
    { what: `writing ${table}`, text: await updateOf(sql, table) }
  ]))
  await sql.end()
  const over = new AbortController()
  const underWay = new Map<string, number>()
  let longest: Longest = { ms: 0, what: 'nothing' }

  function note (what: string, begun: number): void {
    const ms = performance.now() - begun
    if (ms > longest.ms) longest = { ms, what }
  }

  async function keepDoing ({ what, text }: { what: string, text: string }): Promise<void> {
    const own = postgres(url, { max: 1, onnotice: () => {} })
    while (!over.signal.aborted) {
      const begun = performance.now()
      underWay.set(what, begun)
      // A table that refuses changes says so when it has been waited for.
      await own.unsafe(text).catch(() => {})
      underWay.delete(what)
      note(what, begun)
      await sleep(Math.max(EVERY_MS - (performance.now() - begun), 0))
    }
    await own.end()
  }

  const doing = statements.flat().map(keepDoing)
  return {
    /** The longest since the last call, with those that are under way. */
    take (): Longest {
      for (const [what, begun] of underWay) note(what, begun)
      const taken = longest
      longest = { ms: 0, what: 'nothing' }
      return taken
    },
    async stop (): Promise<void> {
      over.abort()
      await Promise.all(doing)
    }
  }
}

/** An UPDATE of one row that changes nothing. */
async function updateOf (sql: postgres.Sql, table: string): Promise<string> {
  const [row] = await sql<[{ column: string }]>`
    select quote_ident(attname) as column from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attidentity = '' and attgenerated = ''
    order by attnum limit 1`
  return `update ${table} set ${row.column} = ${row.column} where ctid = (select ctid from ${table} limit 1)`
}
