import { italianDay } from '#src/lib/time.ts'
import type { Tables } from '../../tables/code-tables.ts'
import type { EsitoOperazioneServizio } from '../soap/contract.ts'
import type { Apartment } from './sandbox-store.ts'

/** The CSV of each `TipoTabella`: `;` between fields, LF between lines and not at the end. */
export const TABLES: Record<string, (tables: Tables, apartments: readonly Apartment[]) => string> = {
  Luoghi: (tables) => csv('Codice;Descrizione;Provincia;DataFineVal', [
    ...tables.search('comuni'), ...tables.search('paesi').map((state) => ({ ...state, provincia: 'ES' }))
  ].map(({ codice, descrizione, provincia, cessato_il: ended }) =>
    [codice, descrizione, provincia, ended === null ? '' : `${italianDay(ended)} 00:00:00`])),
  Tipi_Documento: (tables) => csv('Codice;Descrizione', codes(tables.search('tipi_documento'))),
  Tipi_Alloggiato: (tables) => csv('Codice;Descrizione', codes(tables.search('tipi_alloggiato'))),
  TipoErrore: () => csv('Codice;Descrizione', Object.values(ERRORS).map(({ code, name }) => [code, name])),
  ListaAppartamenti: (tables, apartments) => csv(
    'IDAPP;Descrizione;COMUNE;PROV;Indirizzo;Proprietario',
    apartments.map(({ id, descrizione, comune_codice, indirizzo, proprietario }) => {
      const comune = tables.comune(comune_codice)
      return [String(id), descrizione, comune?.descrizione ?? '', comune?.provincia ?? '', indirizzo, proprietario]
    })
  )
}

function csv (header: string, rows: string[][]): string {
  return [header, ...rows.map((row) => row.join(';'))].join('\n')
}

function codes (rows: readonly { codice: string, descrizione: string }[]): string[][] {
  return rows.map(({ codice, descrizione }) => [codice, descrizione])
}

/**
 * Codes and names of errors. The manual (p. 9) contains 11 and 12. The live service returned ERRORE_RECUPERO_RICEVUTA
 * (reportedly 51) and ERRORE_PARAMETRO_ERRATO. The others are invented, because the service's table is not public.
 * Clients must not depend on these numbers.
 */
const ERRORS = {
  credentials: { code: '100', name: 'AUTENTICAZIONE_FALLITA' },
  token: { code: '101', name: 'TOKEN_NON_VALIDO' },
  format: { code: '11', name: 'SCHEDINA_FORMATO_NON_CORRETTO' },
  field: { code: '12', name: 'SCHEDINA_CAMPO_NON_CORRETTO' },
  parameter: { code: '30', name: 'ERRORE_PARAMETRO_ERRATO' },
  receipt: { code: '51', name: 'ERRORE_RECUPERO_RICEVUTA' }
} as const

export const DONE: EsitoOperazioneServizio = { esito: true, ErroreCod: '', ErroreDes: '', ErroreDettaglio: '' }

export function refused (error: keyof typeof ERRORS, detail: string): EsitoOperazioneServizio {
  const { code, name } = ERRORS[error]
  return { esito: false, ErroreCod: code, ErroreDes: name, ErroreDettaglio: detail }
}
