import { createHash } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { codici_tabelle as stored } from '#drizzle/tables/alloggiati.ts'
import type { Database, Executor } from '#src/database/connect.ts'
import { bundledData } from './bundled.ts'
import { parseTabelle, TabellaError, TIPI_TABELLA, type Csvs } from './tabella.ts'
import { createTables, type Tables } from './code-tables.ts'
import type { TablesData } from './types.ts'

export type TablesSource = ReturnType<typeof tablesSource>

/**
 * Caches the current code tables. They are loaded on first use, and reloaded after `goodForMs`, because another process
 * may have downloaded new ones.
 */
export function tablesSource (db: Database, goodForMs = 3_600_000) {
  let current: Promise<Tables> | undefined
  let goodUntil = 0

  return {
    get (): Promise<Tables> {
      if (current !== undefined && performance.now() < goodUntil) return current
      return keep(loadTables(db).catch((err: unknown) => {
        current = undefined
        throw err
      }))
    },

    /**
     * Downloads all code tables in turn, and replaces them all or none.
     * @param download returns a table's CSV
     * @throws TabellaError for an invalid table, and errors of `download`; the old tables stay
     */
    async refresh (download: (tipo: typeof TIPI_TABELLA[number]) => Promise<string>): Promise<void> {
      const csvs: Record<string, string> = {}
      for (const tipo of TIPI_TABELLA) csvs[tipo] = await download(tipo)
      const tables = createTables(parseTabelle(csvs))
      await saveTables(db, csvs)
      await keep(Promise.resolve(tables))
    }
  }

  function keep (tables: Promise<Tables>): Promise<Tables> {
    current = tables
    goodUntil = performance.now() + goodForMs
    return tables
  }
}

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
 * The tables last downloaded, else the bundled snapshot. Stored tables that this version rejects are ignored, and
 * replaced by the next refresh.
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
