import postgres from 'postgres'
import { migrate } from '#src/database/migrate.ts'

/** Number of stays in `MONTH` in every database. All other stays end years before. */
const IN_MONTH = 300
/** Number of consecutive days from `FIRST_DAY` on which the other stays arrive. */
const DAYS = 9000
const FIRST_DAY = '1990-01-01'

export const MONTH = { start: '2026-11-01', end: '2026-12-01' }
/** The current day of the servers, in the middle of `MONTH`. */
export const TODAY = '2026-11-15'

/** The day by which `count` bookings outside `MONTH` have arrived, in a database with `total` bookings. */
export function lastDayOf (count: number, total: number): string {
  const days = Math.floor(count / ((total - IN_MONTH) / DAYS))
  return new Date(Date.parse(FIRST_DAY) + (days - 1) * 86_400_000).toISOString().slice(0, 10)
}

/** Creates a migrated database with `total` fictitious bookings of two guests each. */
export async function fill (clusterUrl: string, database: string, total: number): Promise<string> {
  const url = await emptyDatabase(clusterUrl, database)
  await fillBookings(url, total)
  return url
}

/** Inserts fictitious bookings of two guests each, in any schema version. */
export async function fillBookings (url: string, total: number): Promise<void> {
  await administer(url, async (sql) => {
    await sql.unsafe('set synchronous_commit = off')
    await sql.unsafe(`
      insert into prenotazioni
        (nome_cognome, lingua, email, telefono, paese_id, check_in, check_out, numero_ospiti, idf_gen)
      select 'Ospite di Prova ' || i, 'IT', 'ospite' || i || '@example.com', '+39 055 ' || i, 1 + i % 200,
        arrival, arrival + 1 + i % 4, 2, 'BK-' || i
      from generate_series(1, ${total}) i, lateral (
        select case when i <= ${IN_MONTH} then date '${MONTH.start}' + i % 26
                    else date '${FIRST_DAY}' + i % ${DAYS} end as arrival
      ) stay`)
    await sql.unsafe(`
      insert into ospiti (prenotazione_id, indice, nome, cognome, sesso, data_nascita, tipo_documento, numero_documento)
      select p.id, i, 'Anna', 'Prova' || p.id, 'F', date '1985-04-12', 'IDELE', 'CA' || p.id
      from prenotazioni p, generate_series(0, 1) i`)
    await sql.unsafe('vacuum analyze')
  })
}

/** Creates a migrated, empty database and returns its URL. */
export async function emptyDatabase (clusterUrl: string, database: string): Promise<string> {
  const url = await createDatabase(clusterUrl, database)
  await migrate(url)
  return url
}

/** Creates a database without tables and returns its URL. */
export async function createDatabase (clusterUrl: string, database: string): Promise<string> {
  await administer(clusterUrl, (sql) => sql.unsafe(`create database ${database}`))
  const url = new URL(clusterUrl)
  url.pathname = `/${database}`
  return url.href
}

export async function administer (url: string, work: (sql: postgres.Sql) => Promise<unknown>): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    await work(sql)
  } finally {
    await sql.end()
  }
}
