import { italianDay } from '#src/lib/time.ts'
import type { Csvs } from '#src/alloggiati/tables/tabella.ts'
import type { Codice, Comune, Stato, TablesData } from '#src/alloggiati/tables/types.ts'

/**
 * Writes the code tables in the format of the service's `Tabella` operation: `;` between fields, LF between rows, none
 * at the end.
 */
export function formatTabelle ({ comuni, stati, documenti, tipi_alloggiato }: TablesData): Required<Csvs> {
  return {
    Luoghi: ['Codice;Descrizione;Provincia;DataFineVal', ...[...comuni, ...stati].map(place)].join('\n'),
    Tipi_Documento: ['Codice;Descrizione', ...documenti.map(code)].join('\n'),
    Tipi_Alloggiato: ['Codice;Descrizione', ...tipi_alloggiato.map(code)].join('\n')
  }
}

function place (row: Comune | Stato): string {
  const end = row.cessato_il === null ? '' : `${italianDay(row.cessato_il)} 00:00:00`
  return `${row.codice};${row.descrizione};${'provincia' in row ? row.provincia : 'ES'};${end}`
}

function code ({ codice, descrizione }: Codice): string {
  return `${codice};${descrizione}`
}
