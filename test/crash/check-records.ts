import { unsealLine } from '#src/alloggiati/ledger/rows.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { verifyChain } from '#src/plugins/audit/verify.ts'
import type { Connection } from '#src/plugins/database/connect.ts'
import { brokenLinks } from '#test/alloggiati/ledger/chain.ts'
import { twice } from '#test/alloggiati/oracle.ts'
import { guestNo } from '#test/alloggiati/stand-in.ts'
import type { ClientAnswer } from './clients.ts'

/** What went wrong, one text for each fault; the lists are empty when the ledger kept its promises. */
export interface Faults {
  submissions: number
  double: string[]
  lost: string[]
  forgotten: string[]
  /** Faults of the records themselves: broken chains, suspensions, submissions that the audit log lacks. */
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

/** The error codes of answers that say that no guest was acquired. */
const NOT_SENT = new Set([
  'SERVIZIO_NON_RAGGIUNGIBILE',
  'RIFIUTATO_DAL_SERVIZIO',
  'SERVIZIO_OCCUPATO',
  'CREDENZIALI_RIFIUTATE',
  'INVII_SOSPESI'
])
/** The states in which the last server may leave a submission. */
const ENDED_STATES = new Set(['acquisito', 'parziale', 'rifiutato', 'non_inviato', 'sconosciuto', 'da_verificare'])

/** What the ledger and the police hold. */
interface Records {
  entries: readonly Entry[]
  byName: Map<string, Entry[]>
  atPolice: ReadonlySet<string>
  references: ReadonlySet<string>
}

/** Compares the answers of the clients and the ledger with what the police acquired. */
export async function checkRecords (
  { sql, db }: Pick<Connection, 'sql' | 'db'>,
  keys: Keys,
  answers: readonly ClientAnswer[],
  acquired: readonly string[]
): Promise<Faults> {
  const found = await sql<Omit<Entry, 'line'>[]>`
    select i.id, i.ricevuta, i.stato, s.indice, s.esito, s.riga
    from invii i join invii_schedine s on s.invio_id = i.id order by i.id, s.indice`
  const entries = found.map((row): Entry => ({ ...row, line: unsealLine(keys, row.id, row.indice, row.riga) }))
  const records: Records = {
    entries,
    byName: Map.groupBy(entries, ({ line }) => nameOf(line)),
    atPolice: new Set(acquired.map(nameOf)),
    references: new Set(entries.map((entry) => entry.ricevuta))
  }
  const states = await sql<
    { stato: string; n: number }[]
  >`select stato, count(*)::int as n from invii group by stato order by stato`
  return {
    submissions: records.references.size,
    double: twice(acquired.map(nameOf)),
    lost: [...answers.flatMap((one) => findLost(one, records)), ...findNotAcquired(records)],
    forgotten: [
      ...answers.flatMap((one) => [...findWronglyNotSent(one, records), ...findGoneReference(one, records)]),
      ...findUnfinished(records),
      ...findUnknownToLedger(records)
    ],
    broken: await findBrokenRecords({ sql, db }, keys),
    states: Object.fromEntries(states.map(({ stato, n }) => [stato, n]))
  }
}

function findLost ({ guests, status, ricevuta: reference, schedine }: ClientAnswer, { atPolice }: Records): string[] {
  const acquired = (at: number) =>
    status === 200 || schedine?.find(({ ospite }) => ospite === at)?.esito === 'acquisita'
  return guests
    .map(nameOfGuest)
    .filter((name, at) => acquired(at) && !atPolice.has(name))
    .map((name) => `${name}: the answer ${reference} says acquired, and the police has not`)
}

/** Guests whom the police acquired although the client was told otherwise, and no other submission knows of them. */
function findWronglyNotSent (
  { guests, status, codice, ricevuta: reference }: ClientAnswer,
  { atPolice, byName }: Records
): string[] {
  if (status !== 422 || codice === undefined || !NOT_SENT.has(codice)) return []
  const elsewhere = (name: string) => byName.get(name)?.some((entry) => entry.ricevuta !== reference && isKnown(entry))
  return guests
    .map(nameOfGuest)
    .filter((name) => atPolice.has(name) && !elsewhere(name))
    .map((name) => `${name}: the answer ${reference} says not sent, and the police has acquired`)
}

function findGoneReference ({ ricevuta: reference }: ClientAnswer, { references }: Records): string[] {
  return reference === undefined || references.has(reference)
    ? []
    : [`${reference}: a client has this reference, and the ledger has not`]
}

function findNotAcquired ({ entries, atPolice }: Records): string[] {
  return entries
    .filter(({ esito, line }) => esito === 'acquisita' && !atPolice.has(nameOf(line)))
    .map((entry) => `${nameOf(entry.line)}: the ledger's ${entry.ricevuta} says acquired, and the police has not`)
}

function findUnfinished ({ entries }: Records): string[] {
  return entries
    .filter(({ stato, esito }) => !ENDED_STATES.has(stato) || (esito === 'in_corso' && stato !== 'da_verificare'))
    .map(({ ricevuta: reference, stato, esito }) => `${reference} is still ${stato}/${esito}`)
}

function findUnknownToLedger ({ atPolice, byName }: Records): string[] {
  return [...atPolice]
    .filter((name) => !byName.get(name)?.some(isKnown))
    .map((name) => `${name}: the police has acquired, and the ledger does not know`)
}

async function findBrokenRecords ({ sql, db }: Pick<Connection, 'sql' | 'db'>, keys: Keys): Promise<string[]> {
  const links = await brokenLinks(sql, keys)
  const { prima_riga_errata: row } = await verifyChain(db, keys, undefined)
  const unmatched = await sql<{ name: string }[]>`
    select coalesce('invio:' || i.ricevuta, a.object) as name from invii i
    full join (select object from audit_log where action = 'invio') a on a.object = 'invio:' || i.ricevuta
    where i.id is null or a.object is null`
  const suspensions = await sql<{ motivo: string }[]>`select motivo from invii_sospensioni`
  const audit = [
    ...(row === null ? [] : [`row ${row} of the audit log`]),
    ...unmatched.map(({ name }) => `${name}: not both in the ledger and in the audit log`)
  ]
  return [
    ...audit,
    ...links.map((id) => `link ${id} of the ledger's chain`),
    ...suspensions.map(({ motivo }) => `sending is suspended: ${motivo}`)
  ]
}

function isKnown ({ esito }: Entry): boolean {
  return esito === 'acquisita' || esito === 'sconosciuta'
}

function nameOfGuest (n: number): string {
  return guestNo(n).cognome!
}

/** The surname in a line (positions 15-64): each guest has another one. */
function nameOf (line: string): string {
  return line.slice(14, 64).trimEnd()
}
