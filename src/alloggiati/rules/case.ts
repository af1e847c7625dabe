import { SINGLE_GUEST, WITH_DOCUMENT, WITHOUT_DOCUMENT } from '#schemas/guest-types.ts'
import { DOCUMENT_FIELDS, SCHEDINA_FIELDS, type SchedinaField } from '#schemas/schedina.ts'
import { addDays, daysBetween, isDay, type Day } from '#src/lib/time.ts'
import { foldDocument, foldName, type Folded } from '../codec/folding.ts'
import { FIELDS } from '../codec/layout.ts'
import type { Tables } from '../tables/code-tables.ts'
import { groupsOf } from './guest-groups.ts'
import { resolveBirth, resolveIssue, type BirthPlace, type IssuePlace } from './birth-places.ts'

/** The input of `validate`. Items of `ospiti` may be any value, even null, or have fields of a wrong type. */
export interface Input {
  ospiti: readonly unknown[]
  soggiorno: Readonly<Record<string, unknown>>
  /** The nights of each guest, if they differ from the nights of the stay. */
  nights?: readonly number[] | undefined
  tables: Tables
  /** Today in Europe/Rome. */
  today: Day
  /** The channel by which the schedine reach the police. The service by default. */
  channel?: Channel
}

/** The web service, or certified mail (PEC) to the questura, which also accepts older arrivals. */
export type Channel = 'service' | 'mail'

/** One guest with all derived values, computed once for all rules. */
export interface GuestCase {
  index: number
  /** The trimmed text fields. Missing fields are `''`. */
  fields: Readonly<Record<SchedinaField, string>>
  /** The guest type: the given code, else the code of the given name, else single with document data, else `''`. */
  type: string
  sex: 'M' | 'F' | undefined
  cognome: Folded
  nome: Folded
  documentNumber: Folded
  /** The birth date, if it is a valid day. */
  born: Day | undefined
  birth: BirthPlace
  issue: IssuePlace
  /** Indices of the guest's group, leader first. */
  group: readonly number[]
  /** Index of the group's first guest. */
  leader: number
  /** Index of an earlier guest with the same names and birth date. */
  repeats: number | undefined
  /** Index of an earlier guest with the same document number, if both documents are sent. */
  sameDocument: number | undefined
  stay: ReturnType<typeof stayOf>
  days: ReturnType<typeof daysOf>
  /** The arrival of the list's first guest. */
  firstArrival: Day | undefined
  /** Whether this is the first of the guests who stay longest. */
  isLongest: boolean
  tables: Tables
  today: Day
  yesterday: Day
  channel: Channel
}

/** Fields whose text is converted to upper case. */
const UPPER_CASE: readonly SchedinaField[] = ['sesso', 'provincia_nascita', 'tipo_documento']

/** Prepares the guests of a list for the rules. */
export function casesOf ({ ospiti, soggiorno, nights, tables, today, channel = 'service' }: Input): GuestCase[] {
  const list = ospiti.map(fieldsOf)
  const stay = stayOf(soggiorno)
  const days = ospiti.map((guest, index) => nights === undefined
    ? daysOf(guest, stay)
    : { ...daysOf({}, stay), nights: nights[index] })
  const longest = days.reduce((best, { nights = 0 }, index) => nights > (days[best]!.nights ?? 0) ? index : best, 0)
  const firstArrival = days[0]?.arrival
  const common = { stay, firstArrival, tables, today, yesterday: addDays(today, -1), channel }
  const firstByIdentity = new Map<string, number>()
  const firstByDocument = new Map<string, number>()
  const types = list.map((fields) => typeOf(fields, tables))
  const groups = groupsOf(types)
  return groups.flatMap((group) => group.map((index) => {
    const fields = list[index]!
    const type = types[index]!
    const born = isDay(fields.data_nascita) ? fields.data_nascita : undefined
    const cognome = foldName(fields.cognome)
    const nome = foldName(fields.nome)
    const identity = cognome.text && nome.text && born ? `${cognome.text}|${nome.text}|${born}` : undefined
    const repeats = identity === undefined ? undefined : firstByIdentity.get(identity)
    if (identity !== undefined && repeats === undefined) firstByIdentity.set(identity, index)
    const documentNumber = foldDocument(fields.numero_documento)
    const characters = WITH_DOCUMENT.includes(type) ? documentNumber.text.replace(/[-./]/g, '') : ''
    const sameDocument = firstByDocument.get(characters)
    if (characters !== '' && sameDocument === undefined) firstByDocument.set(characters, index)
    const given = { comune: fields.comune_nascita, provincia: fields.provincia_nascita, stato: fields.stato_nascita }
    return {
      ...common,
      index,
      days: days[index]!,
      isLongest: index === longest,
      fields,
      type,
      sex: isSex(fields.sesso) ? fields.sesso : undefined,
      cognome,
      nome,
      documentNumber,
      born,
      birth: resolveBirth(given, { tables, born, today }),
      issue: resolveIssue(fields.luogo_rilascio, { tables, born, today }),
      group,
      leader: group[0]!,
      repeats,
      sameDocument
    }
  }))
}

function fieldsOf (guest: unknown): Record<SchedinaField, string> {
  const texts = textsOf(guest)
  return Object.fromEntries(SCHEDINA_FIELDS.map((field) => {
    const text = texts(field)
    return [field, UPPER_CASE.includes(field) ? text.toUpperCase() : text]
  })) as Record<SchedinaField, string>
}

function textsOf (guest: unknown) {
  const values: Partial<Record<string, unknown>> = typeof guest === 'object' && guest !== null ? { ...guest } : {}
  return (field: string): string => {
    const value = values[field]
    return typeof value === 'string' ? value.trim() : ''
  }
}

function typeOf (fields: Record<SchedinaField, string>, tables: Tables): string {
  const { tipo_alloggiato: code } = fields
  if (WITH_DOCUMENT.includes(code) || WITHOUT_DOCUMENT.includes(code)) return code
  const [type, ...others] = code === '' ? [] : tables.named('tipi_alloggiato', code)
  if (type !== undefined && others.length === 0) return type.codice
  return DOCUMENT_FIELDS.some((field) => fields[field] !== '') ? SINGLE_GUEST : ''
}

/**
 * Prepares the stay. `arrival`, `checkOut`, `nights` and `apartment` are undefined if the given value is invalid.
 * `nights` may exceed the nights of one record. Without `numero_notti` the nights are counted up to `check_out`
 * (`isCounted`). `counted` is not positive if the departure is not after the arrival.
 */
function stayOf ({ check_in, check_out, numero_notti, id_appartamento }: Input['soggiorno']) {
  const checkIn = typeof check_in === 'string' ? check_in.trim() : ''
  const arrival = isDay(checkIn) ? checkIn : undefined
  const givenCheckOut = typeof check_out === 'string' ? check_out.trim() : JSON.stringify(check_out ?? '').slice(1, -1)
  const checkOut = isDay(givenCheckOut) ? givenCheckOut : undefined
  const counted = arrival !== undefined && checkOut !== undefined ? daysBetween(arrival, checkOut) : undefined
  const givenNights = numero_notti ?? counted
  return {
    checkIn,
    arrival,
    givenNights,
    isCounted: numero_notti === undefined || numero_notti === null,
    givenCheckOut,
    checkOut,
    counted,
    nights: isNights(givenNights) ? givenNights : undefined,
    givenApartment: id_appartamento,
    apartment: isApartment(id_appartamento) ? id_appartamento : undefined
  }
}

/**
 * Prepares the days of a guest: the guest's own days, else the days of the stay. `before` and `after` count the days
 * from the arrival of the stay to the arrival and the departure of the guest.
 */
function daysOf (guest: unknown, { arrival, nights }: ReturnType<typeof stayOf>) {
  const texts = textsOf(guest)
  const [givenArrival, givenDeparture] = [texts('arrivo'), texts('partenza')]
  const ownArrival = isDay(givenArrival) ? givenArrival : undefined
  const ownDeparture = isDay(givenDeparture) ? givenDeparture : undefined
  const before = arrival === undefined || ownArrival === undefined ? 0 : daysBetween(arrival, ownArrival)
  const after = arrival === undefined || ownDeparture === undefined ? nights : daysBetween(arrival, ownDeparture)
  return {
    givenArrival,
    givenDeparture,
    ownArrival,
    ownDeparture,
    before,
    after: after ?? 0,
    arrival: ownArrival ?? arrival,
    nights: after === undefined ? undefined : after - before
  }
}

function isSex (value: string): value is 'M' | 'F' {
  return value === 'M' || value === 'F'
}

function isNights (value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 1
}

function isApartment (value: unknown): value is number {
  const { min, max } = FIELDS.id_appartamento.kind
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max
}
