import { createHash } from 'node:crypto'
import { asc, sql } from 'drizzle-orm'
import { codici_tabelle as stored } from '#drizzle/tables/alloggiati.ts'
import type { Database, Executor } from '#src/database/connect.ts'
import { bundledData } from './bundled.ts'
import { parseTabelle, TabellaError, TIPI_TABELLA, type Csvs } from './tabella.ts'
import { createTables, type Tables } from './code-tables.ts'
import type { TablesData } from './types.ts'

export type TablesSource = ReturnType<typeof tablesSource>

/**
 * Caches the current code tables. They are loaded on first use, and again after `freshForMs`, because another process
 * may have downloaded new ones.
 */
export function tablesSource (db: Database, freshForMs = 3_600_000) {
  let current: Promise<Tables> | undefined
  let freshUntil = 0
  let loaded: Loaded | undefined

  return {
    get (): Promise<Tables> {
      return current !== undefined && performance.now() < freshUntil ? current : reload()
    },

    /** Indexes the tables ahead of the first search. */
    async prepare (): Promise<void> {
      const tables = await this.get()
      await tables.prepare()
    },

    /**
     * Downloads all code tables one after another, and replaces either all of them or none.
     * @param download returns a table's CSV
     * @throws TabellaError for an invalid table, and errors of `download`. The old tables stay
     */
    async refresh (download: (tipo: typeof TIPI_TABELLA[number]) => Promise<string>): Promise<void> {
      const csvs: Record<string, string> = {}
      for (const tipo of TIPI_TABELLA) csvs[tipo] = await download(tipo)
      parseTabelle(csvs)
      await saveTables(db, csvs)
      await reload()
    }
  }

  /** Keeps unchanged tables, because building their indexes is expensive. New tables are indexed before their use. */
  async function load (): Promise<Tables> {
    const rows = await db.select({ nome: stored.nome, sha256: stored.sha256 }).from(stored).orderBy(asc(stored.nome))
    const marks = JSON.stringify(rows)
    if (loaded?.marks === marks) return loaded.tables
    const tables = await loadTables(db)
    if (loaded !== undefined) await tables.prepare()
    loaded = { marks, tables }
    return tables
  }

  function reload (): Promise<Tables> {
    freshUntil = performance.now() + freshForMs
    current = load().catch((err: unknown) => {
      current = undefined
      throw err
    })
    return current
  }
}

/** Tables, and the digests of the stored rows from which they were made. */
interface Loaded { marks: string, tables: Tables }

async function saveTables (db: Database, csvs: Readonly<Record<string, string>>): Promise<void> {
  const rows = Object.entries(csvs).map(([nome, csv]) => (
    { nome, csv, sha256: createHash('sha256').update(csv).digest('hex') }))
  // One statement: readers see only old or only new tables, and two concurrent refreshes cannot mix.
  await db.insert(stored).values(rows).onConflictDoUpdate({
    target: stored.nome,
    set: { csv: sql`excluded.csv`, sha256: sql`excluded.sha256`, scaricata_il: sql`now()` }
  })
}

/**
 * The last downloaded tables, else the bundled snapshot. Stored tables that this version of the server rejects are
 * ignored until the next refresh replaces them.
 */
async function loadTables (db: Executor): Promise<Tables> {
  const rows = await db.select({ nome: stored.nome, csv: stored.csv }).from(stored)
  const csvs = Object.fromEntries(rows.map(({ nome, csv }) => [nome, csv]))
  return createTables(rows.length === 0 ? bundledData() : readable(csvs) ?? bundledData())
}

function readable (csvs: Csvs): TablesData | undefined {
  try {
    return parseTabelle(csvs)
  } catch (error) {
    if (error instanceof TabellaError) return undefined
    throw error
  }
}
