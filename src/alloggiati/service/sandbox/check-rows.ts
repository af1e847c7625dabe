import { leaderTypeOf, WITH_DOCUMENT } from '#schemas/guest-types.ts'
import { addDays, isDay, type Day } from '#src/lib/time.ts'
import { ITALY } from '../../tables/types.ts'
import type { Tables } from '../../tables/code-tables.ts'
import type { EsitoOperazioneServizio } from '../soap/contract.ts'
import { DONE, refused } from './sandbox-codes.ts'

/**
 * First and last character of each field, counted from 1 as in the manual; the last one only in a "File Unico". The
 * sandbox has this table of its own, so that it does not share a mistake of the codec.
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

interface RowAnswer {
  outcome: EsitoOperazioneServizio
  /** The row, its nights and (File Unico) its apartment: only for a good row. */
  accepted?: { riga: string, permanenza: number, id_appartamento?: number }
}

const MAX_NIGHTS = 30

type Check = (value: string, context: Comparison & { row: Cells }) => string | undefined

/**
 * The checks of a row in the order of its fields; the first text is the `ErroreDettaglio`. Texts marked with `*` are
 * not known from the service and made up after its manner.
 */
const CHECKS: Array<[keyof Cells, Check]> = [
  [
    'tipo',
    (type) => unless(WITH_DOCUMENT.includes(type) || leaderTypeOf(type) !== undefined, 'Tipo Alloggiato Errato')
  ], // *
  ['arrivo', (arrival) => unless(dayOf(arrival), 'Data di Arrivo Non Valida')],
  [
    'arrivo',
    (arrival, { today }) => unless([today, addDays(today, -1)].includes(dayOf(arrival) ?? ''), 'Data di Arrivo Errata')
  ],
  ['giorni', (nights) => unless(nightsOf(nights), 'Giorni di Permanenza Errati')],
  ['cognome', (surname) => unless(isLeftAligned(surname), 'Cognome non valido')],
  ['nome', (name) => unless(isLeftAligned(name), 'Nome non valido')],
  ['cognome', (surname) => unless(isName(surname), 'Nome/Cognome con caratteri non validi')],
  ['nome', (name) => unless(isName(name), 'Nome/Cognome con caratteri non validi')],
  ['sesso', (sex) => unless(sex === '1' || sex === '2', 'Sesso Errato')],
  ['nascita', (birth) => unless(dayOf(birth), 'Data di Nascita non valida')],
  ['nascita', (birth, { row }) => unless((dayOf(birth) ?? '') <= (dayOf(row.arrivo) ?? ''), 'Data di Nascita Errata')],
  ['stato', (state, { tables }) => unless(tables.stato(state), 'Stato di Nascita Errato')], // *
  [
    'comune',
    (comune, { row, tables }) =>
      unless(row.stato === ITALY ? tables.comune(comune) : isBlank(comune), 'Comune di Nascita Errato')
  ], // *
  [
    'provincia',
    (sign, { row, tables }) =>
      unless(
        row.stato === ITALY ? tables.comune(row.comune)?.provincia === sign : isBlank(sign),
        'Provincia di Nascita Errata'
      )
  ], // *
  ['cittadinanza', (state, { tables }) => unless(isActive(tables.stato(state)), 'Cittadinanza Errata')], // *
  ['documento', ofHolder((type) => unless(!isBlank(type), 'Tipo Documento non valido'), 'Tipo Documento Errato')],
  ['documento', ofHolder((type, { tables }) => unless(tables.documento(type), 'Tipo Documento Errato'))],
  [
    'numero',
    ofHolder((number) => unless(isLeftAligned(number), 'Numero Documento non valido'), 'Numero Documento non valido')
  ],
  [
    'numero',
    ofHolder((number) => unless(/^[A-Za-z0-9./ -]+$/.test(number), 'Numero Documento con caratteri non validi'))
  ],
  [
    'rilascio',
    ofHolder(
      (place, { tables }) =>
        unless(
          isActive(tables.comune(place)) || (place !== ITALY && isActive(tables.stato(place))),
          'Luogo di Rilascio Errato'
        ),
      'Luogo di Rilascio Errato'
    )
  ], // *
  [
    'appartamento',
    (id, { rowLength, apartments }) =>
      unless(rowLength === ROW_LENGTH || apartments.has(apartmentOf(id) ?? -1), 'Id Appartamento Errato')
  ] // *
]

/**
 * Checks a list, with one answer per row in order. A member (19, 20) stands only behind an accepted leader of its kind
 * (17, 18), with other members between them at most, and with the leader's arrival and apartment.
 */
export function checkRows (rows: readonly string[], comparison: Comparison): RowAnswer[] {
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
  for (const [name, check] of CHECKS) {
    const text = check(cells[name], { ...comparison, row: cells })
    if (text !== undefined) return refused('field', text)
  }
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

function accept (riga: string, { giorni, appartamento }: Cells): RowAnswer['accepted'] {
  const permanenza = nightsOf(giorni) ?? 0
  const id = apartmentOf(appartamento)
  return id === undefined ? { riga, permanenza } : { riga, permanenza, id_appartamento: id }
}

/** For the fields that members leave blank: `check` for the others, `filled` for a member who has something there. */
function ofHolder (check: Check, filled?: string): Check {
  return (value, context) => {
    if (WITH_DOCUMENT.includes(context.row.tipo)) return check(value, context)
    return filled === undefined ? undefined : unless(isBlank(value), filled)
  }
}

function unless (isFulfilled: unknown, text: string): string | undefined {
  return isFulfilled ? undefined : text
}

function dayOf (italian: string): Day | undefined {
  const day = /^\d\d\/\d\d\/\d{4}$/.test(italian) ? italian.split('/').reverse().join('-') : ''
  return isDay(day) ? day : undefined
}

/** `05`, ` 5` and `5 ` are all seen in files that were accepted. */
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
