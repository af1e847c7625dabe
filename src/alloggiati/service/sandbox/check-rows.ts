import { leaderTypeOf, WITH_DOCUMENT } from '#schemas/guest-types.ts'
import { addDays, isDay, type Day } from '#src/lib/time.ts'
import { ITALY } from '../../tables/types.ts'
import type { Tables } from '../../tables/code-tables.ts'
import type { EsitoOperazioneServizio } from '../soap/contract.ts'
import { DONE, refused } from './sandbox-codes.ts'

/**
 * First and last character of each field, counted from 1 as in the manual. Only a "File Unico" has the last field. The
 * sandbox does not use the codec's table, because it would repeat the codec's mistakes.
 */
const POSITIONS = {
  tipo: [1, 2],
  arrivo: [3, 12],
  giorni: [13, 14],
  cognome: [15, 64],
  nome: [65, 94],
  sesso: [95, 95],
  nascita: [96, 105],
  comune: [106, 114],
  provincia: [115, 116],
  stato: [117, 125],
  cittadinanza: [126, 134],
  documento: [135, 139],
  numero: [140, 159],
  rilascio: [160, 168],
  appartamento: [169, 174]
} as const

export const ROW_LENGTH = 168
export const FILE_UNICO_ROW_LENGTH = 174

type Cells = Record<keyof typeof POSITIONS, string>

export interface Comparison {
  rowLength: typeof ROW_LENGTH | typeof FILE_UNICO_ROW_LENGTH
  tables: Tables
  today: Day
  apartments: ReadonlySet<number>
}

interface RowResponse {
  outcome: EsitoOperazioneServizio
  /** The valid row with its nights and, in a "File Unico", its apartment. Missing if the row is invalid. */
  accepted?: { riga: string, permanenza: number, id_appartamento?: number }
}

const MAX_NIGHTS = 30

type Check = (value: string, context: Comparison & { row: Cells }) => unknown

/**
 * The checks of a row in the order of its fields. The first failed check gives the `ErroreDettaglio`. The project
 * invented the texts marked with `*`, in the style of the service.
 */
const CHECKS: Array<[field: keyof Cells, text: string, holds: Check]> = [
  ['tipo', 'Tipo Alloggiato Errato', (type) => WITH_DOCUMENT.includes(type) || leaderTypeOf(type) !== undefined], // *
  ['arrivo', 'Data di Arrivo Non Valida', dayOf],
  ['arrivo', 'Data di Arrivo Errata', (day, { today }) => [today, addDays(today, -1)].includes(dayOf(day) ?? '')],
  ['giorni', 'Giorni di Permanenza Errati', nightsOf],
  ['cognome', 'Cognome non valido', isLeftAligned],
  ['nome', 'Nome non valido', isLeftAligned],
  ['cognome', 'Nome/Cognome con caratteri non validi', isName],
  ['nome', 'Nome/Cognome con caratteri non validi', isName],
  ['sesso', 'Sesso Errato', (sex) => sex === '1' || sex === '2'],
  ['nascita', 'Data di Nascita non valida', dayOf],
  ['nascita', 'Data di Nascita Errata', (birth, { row }) => (dayOf(birth) ?? '') <= (dayOf(row.arrivo) ?? '')],
  ['stato', 'Stato di Nascita Errato', (state, { tables }) => tables.stato(state)], // *
  ['comune', 'Comune di Nascita Errato', (comune, { row, tables }) =>
    row.stato === ITALY ? tables.comune(comune) : isBlank(comune)], // *
  ['provincia', 'Provincia di Nascita Errata', (sign, { row, tables }) =>
    row.stato === ITALY ? tables.comune(row.comune)?.provincia === sign : isBlank(sign)], // *
  ['cittadinanza', 'Cittadinanza Errata', (state, { tables }) => isActive(tables.stato(state))], // *
  ['documento', 'Tipo Documento non valido', (type, { row }) => isMember(row) || !isBlank(type)],
  ['documento', 'Tipo Documento Errato', (type, { row, tables }) =>
    isMember(row) ? isBlank(type) : tables.documento(type)],
  ['numero', 'Numero Documento non valido', (number, { row }) =>
    isMember(row) ? isBlank(number) : isLeftAligned(number)],
  ['numero', 'Numero Documento con caratteri non validi', (number, { row }) =>
    isMember(row) || /^[A-Za-z0-9./ -]+$/.test(number)],
  ['rilascio', 'Luogo di Rilascio Errato', (place, { row, tables }) => isMember(row)
    ? isBlank(place)
    : isActive(tables.comune(place)) || (place !== ITALY && isActive(tables.stato(place)))], // *
  ['appartamento', 'Id Appartamento Errato', (id, { rowLength, apartments }) =>
    rowLength === ROW_LENGTH || apartments.has(apartmentOf(id) ?? -1)] // *
]

/**
 * Checks a list, and returns one result per row in order. A member (19, 20) must follow an accepted leader of its kind
 * (17, 18), directly or after other members, with the same arrival and apartment.
 */
export function checkRows (rows: readonly string[], comparison: Comparison): RowResponse[] {
  let leader: Cells | undefined
  return rows.map((row) => {
    const cells = cut(row)
    const outcome = checkRow(row, cells, leader, comparison)
    if (leaderTypeOf(cells.tipo) === undefined) leader = outcome.esito ? cells : undefined
    return outcome.esito ? { outcome, accepted: accept(row, cells) } : { outcome }
  })
}

function checkRow (
  row: string, cells: Cells, leader: Cells | undefined, comparison: Comparison
): EsitoOperazioneServizio {
  if (row.length !== comparison.rowLength) return refused('format', 'Dimensione Riga errata')
  const wanted = leaderTypeOf(cells.tipo)
  if (wanted !== undefined && leader?.tipo !== wanted) {
    return refused('field', 'Ospite con Capo Gruppo o Capo Famiglia Mancante')
  }
  const failed = CHECKS.find(([name, , holds]) => !holds(cells[name], { ...comparison, row: cells }))
  if (failed !== undefined) return refused('field', failed[1])
  if (wanted !== undefined && leader?.arrivo !== cells.arrivo) return refused('field', 'Data di Arrivo Errata')
  if (wanted !== undefined && leader?.appartamento !== cells.appartamento) {
    return refused('field', 'Id Appartamento Errato')
  }
  return DONE
}

function cut (row: string): Cells {
  return Object.fromEntries(
    Object.entries(POSITIONS).map(([name, [first, last]]) => [name, row.slice(first - 1, last)])
  ) as Cells
}

function accept (riga: string, { giorni, appartamento }: Cells): RowResponse['accepted'] {
  const permanenza = nightsOf(giorni) ?? 0
  const id = apartmentOf(appartamento)
  return id === undefined ? { riga, permanenza } : { riga, permanenza, id_appartamento: id }
}

/** Members have blank document fields. */
function isMember ({ tipo }: Cells): boolean {
  return !WITH_DOCUMENT.includes(tipo)
}

function dayOf (italian: string): Day | undefined {
  const day = /^\d\d\/\d\d\/\d{4}$/.test(italian) ? italian.split('/').reverse().join('-') : ''
  return isDay(day) ? day : undefined
}

/** Files that the real service accepted contain `05`, ` 5` and `5 `. */
function nightsOf (text: string): number | undefined {
  const nights = /^(?:\d\d| \d|\d )$/.test(text) ? Number(text) : 0
  return nights >= 1 && nights <= MAX_NIGHTS ? nights : undefined
}

function apartmentOf (text: string): number | undefined {
  return text.length === 6 && /^ *\d+ *$/.test(text) ? Number(text) : undefined
}

function isLeftAligned (text: string): boolean {
  return /^[^ ]/.test(text)
}

function isName (text: string): boolean {
  return /^[A-Za-z' ]+$/.test(text)
}

function isBlank (text: string): boolean {
  return /^ *$/.test(text)
}

function isActive (place: { cessato_il: Day | null } | undefined): boolean {
  return place?.cessato_il === null
}
