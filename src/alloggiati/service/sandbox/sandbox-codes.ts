import { readFile } from 'node:fs/promises'
import { GUEST_TYPES } from '#schemas/guest-types.ts'
import { italianDay, type Day } from '#src/lib/time.ts'
import type { Message } from './message.ts'

const BUNDLED = new URL('../../tables/bundled/', import.meta.url)

export interface Place {
  name: string
  /** Car plate of the province; `ES` for a state, as in the service's own table. */
  province: string
  /** Last day of a comune or state that is no more. */
  ended?: Day
}

export interface Codes {
  comuni: Map<string, Place>
  states: Map<string, Place>
  documents: Map<string, string>
}

export interface Apartment {
  id: number
  descrizione: string
  comune_codice: string
  indirizzo: string
  proprietario: string
}

export async function loadCodes (): Promise<Codes> {
  const [comuni, states, documents] = await Promise.all(['comuni.tsv', 'stati.tsv', 'documenti.tsv'].map(readRows))
  return {
    comuni: new Map(
      comuni?.map(([code = '', name = '', province = '', ended]) => [code, place(name, province, ended)])
    ),
    states: new Map(states?.map(([code = '', name = '', ended]) => [code, place(name, 'ES', ended)])),
    documents: new Map(documents?.map(([code = '', name = '']) => [code, name]))
  }
}

/** The CSV of each `TipoTabella`: `;` between fields, LF between lines, none at the end. */
export const TABLES: Record<string, (codes: Codes, apartments: Apartment[]) => string> = {
  Luoghi: ({ comuni, states }) =>
    csv(
      'Codice;Descrizione;Provincia;DataFineVal',
      [...comuni, ...states].map(([code, { name, province, ended }]) => [
        code,
        name,
        province,
        ended ? `${italianDay(ended)} 00:00:00` : ''
      ])
    ),
  Tipi_Documento: ({ documents }) => csv('Codice;Descrizione', [...documents]),
  Tipi_Alloggiato: () => csv('Codice;Descrizione', GUEST_TYPES.map(({ codice, descrizione }) => [codice, descrizione])),
  TipoErrore: () => csv('Codice;Descrizione', Object.values(ERRORS).map(({ code, name }) => [code, name])),
  ListaAppartamenti: ({ comuni }, apartments) =>
    csv(
      'IDAPP;Descrizione;COMUNE;PROV;Indirizzo;Proprietario',
      apartments.map((apartment) => {
        const comune = comuni.get(apartment.comune_codice)
        return [
          String(apartment.id),
          apartment.descrizione,
          comune?.name ?? '',
          comune?.province ?? '',
          apartment.indirizzo,
          apartment.proprietario
        ]
      })
    )
}

function csv (header: string, rows: string[][]): string {
  return [header, ...rows.map((row) => row.join(';'))].join('\n')
}

function place (name: string, province: string, ended?: string): Place {
  return ended ? { name, province, ended } : { name, province }
}

async function readRows (file: string): Promise<string[][]> {
  const [, ...lines] = (await readFile(new URL(file, BUNDLED), 'utf8')).split(/\r?\n/)
  return lines.filter((line) => line !== '').map((line) => line.split('\t'))
}

/**
 * `EsitoOperazioneServizio` as the service writes it: all four elements always, empty ones where there is nothing to
 * say.
 */
export interface ServiceOutcome extends Message {
  esito: boolean
  ErroreCod: string
  ErroreDes: string
  ErroreDettaglio: string
}

/**
 * Codes and names of errors. 11 and 12 are the manual's (p. 9); ERRORE_RECUPERO_RICEVUTA and ERRORE_PARAMETRO_ERRATO
 * were seen on the live service, the first with the number 51 by hearsay. The rest is the sandbox's own choice: the
 * service's table of errors is not public, and a client must not depend on these numbers.
 */
const ERRORS = {
  credentials: { code: '100', name: 'AUTENTICAZIONE_FALLITA' },
  token: { code: '101', name: 'TOKEN_NON_VALIDO' },
  format: { code: '11', name: 'SCHEDINA_FORMATO_NON_CORRETTO' },
  field: { code: '12', name: 'SCHEDINA_CAMPO_NON_CORRETTO' },
  parameter: { code: '30', name: 'ERRORE_PARAMETRO_ERRATO' },
  receipt: { code: '51', name: 'ERRORE_RECUPERO_RICEVUTA' }
} as const

export const DONE: ServiceOutcome = { esito: true, ErroreCod: '', ErroreDes: '', ErroreDettaglio: '' }

export function refused (error: keyof typeof ERRORS, detail: string): ServiceOutcome {
  const { code, name } = ERRORS[error]
  return { esito: false, ErroreCod: code, ErroreDes: name, ErroreDettaglio: detail }
}
