import { createHash } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { codici_tabelle as stored } from '#drizzle/tables/alloggiati.ts'
import type { Database, Executor } from '#src/database/connect.ts'
import { bundledData } from './bundled.ts'
import { parseTabelle, TabellaError, TIPI_TABELLA, type TipoTabella } from './tabella.ts'
import { createTables, type Tables } from './code-tables.ts'

type Csvs = Readonly<Record<TipoTabella, string>>

interface Refresh { db: Database, download: (tipo: TipoTabella) => Promise<string> }

/**
 * Checks all five downloaded tables and puts them in the place of the stored ones, all or none.
 * @throws TabellaError when one is not acceptable; the stored ones then stay
 */
export async function saveTables (db: Database, csvs: Csvs): Promise<Tables> {
  const tables = createTables(parseTabelle(csvs))
  const rows = TIPI_TABELLA.map((nome) => (
    { nome, csv: csvs[nome], sha256: createHash('sha256').update(csvs[nome]).digest('hex') }))
  // One statement: a reader sees five old tables or five new ones, and two refreshes at once cannot mix theirs.
  await db.insert(stored).values(rows).onConflictDoUpdate({
    target: stored.nome,
    set: { csv: sql`excluded.csv`, sha256: sql`excluded.sha256`, scaricata_il: sql`now()` }
  })
  return tables
}

/**
 * The tables last downloaded from the service, else the bundled snapshot (`fonte` says which). Stored tables that this
 * version of the program would no longer accept count as none: the next refresh replaces them.
 */
export async function loadTables (db: Executor): Promise<Tables> {
  const rows = await db.select({ nome: stored.nome, csv: stored.csv }).from(stored)
  const csvs = Object.fromEntries(rows.map(({ nome, csv }) => [nome, csv]))
  return createTables(isComplete(csvs) ? readable(csvs) ?? bundledData() : bundledData())
}

/**
 * Downloads the five tables one after the other, checks them and stores them.
 * @param download gives a table's CSV. For an account without apartments it gives `''` as `ListaAppartamenti`.
 * @throws TabellaError for an unacceptable table, or what `download` throws; the stored ones then stay
 */
export async function refreshTables ({ db, download }: Refresh): Promise<Tables> {
  const csvs: Partial<Record<TipoTabella, string>> = {}
  for (const tipo of TIPI_TABELLA) csvs[tipo] = await download(tipo)
  if (!isComplete(csvs)) throw new TypeError('A table was not downloaded')
  return saveTables(db, csvs)
}

function isComplete (csvs: Partial<Record<string, string>>): csvs is Csvs {
  return TIPI_TABELLA.every((tipo) => typeof csvs[tipo] === 'string')
}

function readable (csvs: Csvs) {
  try {
    return parseTabelle(csvs)
  } catch (error) {
    if (error instanceof TabellaError) return undefined
    throw error
  }
}

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

    /** Puts the service's own tables in force. When one of them is not acceptable, all the old ones stay. */
    async refresh (download: (tipo: TipoTabella) => Promise<string>): Promise<void> {
      const refreshed = await refreshTables({ db, download })
      await keep(Promise.resolve(refreshed))
    }
  }

  function keep (tables: Promise<Tables>): Promise<Tables> {
    current = tables
    goodUntil = performance.now() + goodForMs
    return tables
  }
}
