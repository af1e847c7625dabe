import { administer, fill, TODAY } from './data.ts'

/** Number of units, and of days of their calendar. */
export const UNITS = 100
export const DAYS = 62
const TOTAL = 200_000
const NIGHTS = 3

export const CALENDAR = '/api/v1/calendario?da=2026-11-01&a=2027-01-02'
export const DESK = `/api/v1/oggi?giorno=${TODAY}`

/** Creates a database of bookings, and of units that are occupied in every night of the calendar. */
export async function databaseForDay (
  clusterUrl: string, { name = 'bench_day', total = TOTAL, units = UNITS } = {}
): Promise<string> {
  const url = await fill(clusterUrl, name, total)
  await administer(url, async (sql) => {
    await sql.unsafe(`insert into unita (nome, tipo, posti_letto, ospiti_massimi, ordine)
      select 'Camera ' || n, 'camera', 2, 2, n from generate_series(1, ${units}) n`)
    await sql.unsafe(`
      insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti, unita_id)
      select 'Ospite di Camera ' || u.id, 'IT', 380, arrival, arrival + ${NIGHTS}, 2, u.id
      from unita u, generate_series(0, ${Math.floor(DAYS / NIGHTS)}) n,
        lateral (select date '2026-10-30' + u.ordine % ${NIGHTS} + n * ${NIGHTS} as arrival) stay`)
    await sql.unsafe(`
      insert into ospiti (prenotazione_id, indice, nome, cognome, sesso, data_nascita, tipo_documento, numero_documento)
      select p.id, i, 'Anna', 'Prova', 'F', date '1985-04-12', 'IDELE', 'CA' || p.id
      from prenotazioni p, generate_series(0, 1) i where p.unita_id is not null`)
    // The wait for the disk would hide differences.
    await sql.unsafe(`alter database ${name} set synchronous_commit = off`)
    await sql.unsafe('vacuum analyze')
  })
  return url
}
