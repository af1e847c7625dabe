import { unsealLine } from '#src/alloggiati/ledger/rows.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { verifyChain } from '#src/plugins/audit/verify.ts'
import type { Connection } from '#src/plugins/database/connect.ts'
import { brokenLinks } from '#test/alloggiati/ledger/chain.ts'
import { twice } from '#test/alloggiati/oracle.ts'
import { guestNo } from '#test/alloggiati/stand-in.ts'
import type { Told } from './client.ts'

/** Lists of what went wrong, each in words; all empty when nothing did. */
export interface Verdict {
  submissions: number
  double: string[]
  lost: string[]
  forgotten: string[]
  /** The records themselves: their chains, the ledger's stops, what the audit log should tell of and does not. */
  broken: string[]
  /** How many submissions ended in each state. */
  states: Record<string, number>
}

interface Entry {
  id: number
  ricevuta: string
  stato: string
  indice: number
  esito: string
  riga: Buffer
  line: string
}

/** Answers that say that nothing was acquired. */
const NOT_SENT = new Set([
  'SERVIZIO_NON_RAGGIUNGIBILE',
  'RIFIUTATO_DAL_SERVIZIO',
  'SERVIZIO_OCCUPATO',
  'CREDENZIALI_RIFIUTATE',
  'INVII_SOSPESI'
])
const SETTLED = new Set(['acquisito', 'parziale', 'rifiutato', 'non_inviato', 'sconosciuto', 'da_verificare'])

/** The ledger, the police and the clients side by side. */
interface Books {
  entries: readonly Entry[]
  byName: Map<string, Entry[]>
  atPolice: ReadonlySet<string>
  references: ReadonlySet<string>
}

/** Holds what the clients were told and what the ledger says against what the police has acquired. */
export async function judge (
  { sql, db }: Pick<Connection, 'sql' | 'db'>,
  keys: Keys,
  told: readonly Told[],
  acquired: readonly string[]
): Promise<Verdict> {
  const found = await sql<Omit<Entry, 'line'>[]>`
    select i.id, i.ricevuta, i.stato, s.indice, s.esito, s.riga from invii i join invii_schedine s on s.invio_id = i.id order by i.id, s.indice`
  const entries = found.map((row): Entry => ({ ...row, line: unsealLine(keys, row.id, row.indice, row.riga) }))
  const books: Books = {
    entries,
    byName: Map.groupBy(entries, ({ line }) => nameOf(line)),
    atPolice: new Set(acquired.map(nameOf)),
    references: new Set(entries.map(({ ricevuta }) => ricevuta))
  }
  const states = await sql<
    { stato: string; n: number }[]
  >`select stato, count(*)::int as n from invii group by stato order by stato`
  return {
    submissions: books.references.size,
    double: twice(acquired.map(nameOf)),
    lost: [...told.flatMap((one) => toldAcquired(one, books)), ...writtenAcquired(books)],
    forgotten: [
      ...told.flatMap((one) => [...toldNotSent(one, books), ...goneReference(one, books)]),
      ...unsettled(books),
      ...unknownToLedger(books)
    ],
    broken: await brokenRecord({ sql, db }, keys),
    states: Object.fromEntries(states.map(({ stato, n }) => [stato, n]))
  }
}

function toldAcquired ({ guests, status, ricevuta, schedine }: Told, { atPolice }: Books): string[] {
  const acquired = (at: number) =>
    status === 200 || schedine?.find(({ ospite }) => ospite === at)?.esito === 'acquisita'
  return guests
    .map(nameOfGuest)
    .filter((name, at) => acquired(at) && !atPolice.has(name))
    .map((name) => `${name}: told acquired by ${ricevuta}`)
}

/** Unless another submission knows of it: the client may have tried again. */
function toldNotSent ({ guests, status, codice, ricevuta }: Told, { atPolice, byName }: Books): string[] {
  if (status !== 422 || codice === undefined || !NOT_SENT.has(codice)) return []
  const elsewhere = (name: string) => byName.get(name)?.some((entry) => entry.ricevuta !== ricevuta && isKnown(entry))
  return guests
    .map(nameOfGuest)
    .filter((name) => atPolice.has(name) && !elsewhere(name))
    .map((name) => `${name}: told not sent by ${ricevuta}, and was`)
}

function goneReference ({ ricevuta }: Told, { references }: Books): string[] {
  return ricevuta === undefined || references.has(ricevuta) ? [] : [`${ricevuta}: told, and gone`]
}

function writtenAcquired ({ entries, atPolice }: Books): string[] {
  return entries
    .filter(({ esito, line }) => esito === 'acquisita' && !atPolice.has(nameOf(line)))
    .map(({ ricevuta, line }) => `${nameOf(line)}: acquired, says ${ricevuta}`)
}

function unsettled ({ entries }: Books): string[] {
  return entries
    .filter(({ stato, esito }) => !SETTLED.has(stato) || (esito === 'in_corso' && stato !== 'da_verificare'))
    .map(({ ricevuta, stato, esito }) => `${ricevuta} is still ${stato}/${esito}`)
}

function unknownToLedger ({ atPolice, byName }: Books): string[] {
  return [...atPolice]
    .filter((name) => !byName.get(name)?.some(isKnown))
    .map((name) => `${name}: acquired, and the ledger does not know`)
}

async function brokenRecord ({ sql, db }: Pick<Connection, 'sql' | 'db'>, keys: Keys): Promise<string[]> {
  const links = await brokenLinks(sql)
  const { prima_riga_errata: row } = await verifyChain(db, keys, undefined)
  const unmatched = await sql<{ name: string }[]>`
    select coalesce('invio:' || i.ricevuta, a.object) as name from invii i
    full join (select object from audit_log where action = 'invio') a on a.object = 'invio:' || i.ricevuta where i.id is null or a.object is null`
  const stops = await sql<{ motivo: string }[]>`select motivo from invii_sospensioni`
  const audit = [
    ...(row === null ? [] : [`audit row ${row}`]),
    ...unmatched.map(({ name }) => `${name}: not in the ledger and in the audit log`)
  ]
  return [...audit, ...links.map((id) => `link ${id}`), ...stops.map(({ motivo }) => `stopped itself: ${motivo}`)]
}

function isKnown ({ esito }: Entry): boolean {
  return esito === 'acquisita' || esito === 'sconosciuta'
}

function nameOfGuest (n: number): string {
  return guestNo(n).cognome!
}

/** The surname field of a record (positions 15-64): each guest has one of its own. */
function nameOf (line: string): string {
  return line.slice(14, 64).trimEnd()
}
