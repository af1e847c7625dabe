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
 * The code tables in force. They are read on first use: a process that is never asked for a code does not keep them.
 * After `goodForMs` they are read anew: another process may have downloaded others.
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
     * Downloads the code tables one after the other, and puts them in force all or none.
     * @param download gives a table's CSV
     * @throws TabellaError for an unacceptable table, or what `download` throws; all the old ones then stay
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
  // One statement: a reader sees all old tables or all new ones, and two refreshes at once cannot mix theirs.
  await db.insert(stored).values(rows).onConflictDoUpdate({
    target: stored.nome,
    set: { csv: sql`excluded.csv`, sha256: sql`excluded.sha256`, scaricata_il: sql`now()` }
  })
}

/**
 * The tables last downloaded from the service, else the bundled snapshot. Stored tables that this version of the
 * program would no longer accept count as none: the next refresh replaces them.
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
