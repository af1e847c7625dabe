import { italianDay } from '#src/lib/time.ts'
import type { Csvs, Tabella, TipoTabella } from '#src/alloggiati/tables/tabella.ts'
import type { Codice, Comune, Stato, TablesData } from '#src/alloggiati/tables/types.ts'

const HEADERS: { [T in TipoTabella]: string } = {
  Luoghi: 'Codice;Descrizione;Provincia;DataFineVal',
  Tipi_Documento: 'Codice;Descrizione',
  Tipi_Alloggiato: 'Codice;Descrizione',
  ListaAppartamenti: 'IDAPP;Descrizione;COMUNE;PROV;Indirizzo;Proprietario'
}

const formatters: { [T in TipoTabella]: (content: Tabella[T]) => string[] } = {
  Luoghi: ({ comuni, stati }) => [...comuni, ...stati].map(place),
  Tipi_Documento: (rows) => rows.map(code),
  Tipi_Alloggiato: (rows) => rows.map(code),
  ListaAppartamenti: (rows) => rows.map((row) => [
    row.id, row.descrizione, row.comune, row.provincia, row.indirizzo, row.proprietario
  ].join(';'))
}

/**
 * Writes a table as the service's `Tabella` operation gives it: `;` between fields, LF between rows, none at the end.
 */
export function formatTabella<T extends TipoTabella> (tipo: T, content: Tabella[T]): string {
  return [HEADERS[tipo], ...formatters[tipo](content)].join('\n')
}

/** Writes the code tables. */
export function formatTabelle (data: TablesData): Required<Csvs> {
  return {
    Luoghi: formatTabella('Luoghi', { comuni: [...data.comuni], stati: [...data.stati] }),
    Tipi_Documento: formatTabella('Tipi_Documento', [...data.documenti]),
    Tipi_Alloggiato: formatTabella('Tipi_Alloggiato', [...data.tipi_alloggiato])
  }
}

function place (row: Comune | Stato): string {
  const end = row.cessato_il === null ? '' : `${italianDay(row.cessato_il)} 00:00:00`
  return `${row.codice};${row.descrizione};${'provincia' in row ? row.provincia : 'ES'};${end}`
}

function code ({ codice, descrizione }: Codice): string {
  return `${codice};${descrizione}`
}
