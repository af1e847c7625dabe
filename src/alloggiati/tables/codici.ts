import type { Codice, Codici, CodiciQuery } from '#schemas/codici.ts'
import { italianDay, type Day } from '#src/lib/time.ts'
import type { Tables } from './tables.ts'

/**
 * The answer of `GET /api/alloggiati/codici`: every list whole, or what matches `q` in each, at most `limit` entries a
 * list. A comune is described with its province, a ceased place with its last day.
 */
export function codici (tables: Tables, { q, limit }: CodiciQuery = {}): Codici {
  return {
    tipi_documento: tables.search('tipi_documento', q, limit).map(plain),
    paesi: tables.search('paesi', q, limit).map((row) => (
      { codice: row.codice, descrizione: row.descrizione + ceased(row.cessato_il) })),
    comuni: tables.search('comuni', q, limit).map((row) => (
      { codice: row.codice, descrizione: `${row.descrizione} (${row.provincia})${ceased(row.cessato_il)}` })),
    province: tables.search('province', q, limit).map((row) => (
      { codice: row.codice, descrizione: row.descrizione + (row.cessata ? ' (cessata)' : '') })),
    tipi_alloggiato: tables.search('tipi_alloggiato', q, limit).map(plain)
  }
}

function plain ({ codice, descrizione }: Codice): Codice {
  return { codice, descrizione }
}

function ceased (day: Day | null): string {
  return day === null ? '' : ` (cessato il ${italianDay(day)})`
}
