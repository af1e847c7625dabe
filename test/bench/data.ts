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

/**
 * Inserts fictitious bookings of two guests each, in any schema version. Generated columns take most of the time, so
 * two connections insert. Triggers are off. One would count the bookings, which is done here at once. Another would
 * record an event for each booking.
 */
export async function fillBookings (url: string, total: number): Promise<void> {
  await administer(url, async (sql) => {
    await sql.unsafe('alter table prenotazioni disable trigger user; alter table ospiti disable trigger user')
    const middle = Math.ceil(total / 2)
    await withoutIndexes(sql, async () => {
      await Promise.all([insertBookings(url, 1, middle), insertBookings(url, middle + 1, total)])
    })
    await sql.unsafe('alter table prenotazioni enable trigger user; alter table ospiti enable trigger user')
    await sql.unsafe(`
      select setval(pg_get_serial_sequence('prenotazioni', 'id'), ${total});
      insert into prenotazioni_per_paese (paese_id, totale)
        select paese_id, count(*) from prenotazioni group by paese_id`)
    await sql.unsafe('vacuum analyze')
  })
}

/** Rebuilds the indexes of bookings and guests after the work, which is faster than extending them row by row. */
async function withoutIndexes (sql: postgres.ISql, work: () => Promise<void>): Promise<void> {
  const indexes = await sql<{ name: string, definition: string }[]>`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
    where indrelid in ('prenotazioni'::regclass, 'ospiti'::regclass) and not indisunique`
  for (const { name } of indexes) await sql.unsafe(`drop index ${name}`)
  await work()
  await sql.unsafe("set maintenance_work_mem = '256MB'")
  for (const { definition } of indexes) await sql.unsafe(definition)
}

async function insertBookings (url: string, first: number, last: number): Promise<void> {
  await administer(url, async (sql) => {
    await sql.unsafe('set synchronous_commit = off')
    await sql.unsafe(`
      insert into prenotazioni
        (id, nome_cognome, lingua, email, telefono, paese_id, check_in, check_out, numero_ospiti, idf_gen)
      overriding system value
      select i, 'Ospite di Prova ' || i, 'IT', 'ospite' || i || '@example.com', '+39 055 ' || i, 1 + i % 200,
        arrival, arrival + 1 + i % 4, 2, 'BK-' || i
      from generate_series(${first}, ${last}) i, lateral (
        select case when i <= ${IN_MONTH} then date '${MONTH.start}' + i % 26
                    else date '${FIRST_DAY}' + i % ${DAYS} end as arrival
      ) stay`)
    await sql.unsafe(`
      insert into ospiti (prenotazione_id, indice, nome, cognome, sesso, data_nascita, tipo_documento, numero_documento)
      select p, i, 'Anna', 'Prova' || p, 'F', date '1985-04-12', 'IDELE', 'CA' || p
      from generate_series(${first}, ${last}) p, generate_series(0, 1) i`)
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
