import { unsealLine } from '#src/alloggiati/ledger/submission-rows.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { verifyChain } from '#src/services/audit/verify.ts'
import type { Connection } from '#src/database/connect.ts'
import { brokenLinks } from '#test/alloggiati/ledger/chain.ts'
import type { ClientResponse } from './responses.ts'
import { identityOf, isSameNight, personOf, traitsOf } from './people.ts'

/** The violations that were found, one text each. All lists are empty when the ledger is correct. */
export interface Faults {
  submissions: number
  double: string[]
  lost: string[]
  forgotten: string[]
  /** People who were acquired more than once in any spelling, without a confirmation. */
  respelled: string[]
  /** Broken chains, suspensions, submissions without an audit entry, and audit entries without a submission. */
  broken: string[]
  /** Number of submissions by final state. */
  states: Record<string, number>
}

interface Entry {
  id: number
  ricevuta: string
  stato: string
  indice: number
  esito: string
  riga: Buffer
  confermata: boolean
  line: string
}

/** Error codes which promise that no guest was acquired. */
const NOT_SENT = new Set([
  'SERVIZIO_NON_RAGGIUNGIBILE', 'RIFIUTATO_DAL_SERVIZIO', 'CREDENZIALI_RIFIUTATE', 'INVII_SOSPESI', 'NON_INVIATA',
  'RIFIUTATA'
])
/** Allowed final states of a submission. */
const ENDED_STATES = new Set(['acquisito', 'parziale', 'rifiutato', 'non_inviato', 'sconosciuto', 'da_verificare'])

/** The contents of the ledger and of the police. */
interface Records {
  entries: readonly Entry[]
  byPerson: Map<number, Entry[]>
  byIdentity: Map<string, Entry[]>
  /** Person numbers and identities that the police acquired. */
  persons: ReadonlySet<number>
  identities: ReadonlySet<string>
  references: ReadonlySet<string>
}

/** Compares the clients' responses and the ledger with the rows that the police acquired. */
export async function checkRecords (
  { sql, db }: Pick<Connection, 'sql' | 'db'>,
  keys: Keys,
  responses: readonly ClientResponse[],
  acquired: readonly string[]
): Promise<Faults> {
  const found = await sql<Omit<Entry, 'line'>[]>`
    select i.id, i.ricevuta, i.stato, s.indice, s.esito, s.riga, s.confermata
    from invii i join invii_schedine s on s.invio_id = i.id order by i.id, s.indice`
  const entries = found.map((row): Entry => ({ ...row, line: unsealLine(keys, row.id, row.indice, row.riga) }))
  const records: Records = {
    entries,
    byPerson: Map.groupBy(entries, ({ line }) => personOf(line)),
    byIdentity: Map.groupBy(entries, ({ line }) => identityOf(line)),
    persons: new Set(acquired.map(personOf)),
    identities: new Set(acquired.map(identityOf)),
    references: new Set(entries.map((entry) => entry.ricevuta))
  }
  const states = await sql<
    { stato: string; n: number }[]
  >`select stato, count(*)::int as n from invii group by stato order by stato`
  return {
    submissions: records.references.size,
    double: findDouble(acquired, records),
    respelled: findRespelled(acquired, records),
    lost: [...responses.flatMap((one) => findLost(one, records)), ...findNotAcquired(records)],
    forgotten: [
      ...responses.flatMap((one) => [...findWronglyNotSent(one, records), ...findGoneReference(one, records)]),
      ...findUnfinished(records),
      ...findUnknownToLedger(records)
    ],
    broken: await findBrokenRecords({ sql, db }),
    states: Object.fromEntries(states.map(({ stato, n }) => [stato, n]))
  }
}

/** Finds guests who were acquired twice for a night in the same spelling. */
function findDouble (acquired: readonly string[], { byIdentity }: Records): string[] {
  return [...Map.groupBy(acquired, identityOf)].flatMap(([identity, lines]) => (
    lines.some((line, at) => lines.slice(at + 1).some((other) => isSameNight(line, other))) &&
      !byIdentity.get(identity)?.some(isConfirmed)
      ? identity
      : []
  ))
}

/** Finds people who were acquired for a night in several spellings without confirmations. */
function findRespelled (acquired: readonly string[], { byPerson }: Records): string[] {
  return [...Map.groupBy(acquired, personOf)].flatMap(([n, lines]) => {
    const confirmed = byPerson.get(n)?.filter(isConfirmed).length ?? 0
    return groupLines(lines).filter((those) => new Set(those.map(identityOf)).size > 1 + confirmed).map((those) =>
      `person ${n}: acquired as ${those.map((line) => line.slice(14).replaceAll(/ +/g, ' ')).join(' | ')}`)
  })
}

/** Groups the lines of one person that share a night and a trait, directly or through other lines. */
function groupLines (lines: readonly string[]): string[][] {
  return lines.reduce<string[][]>((groups, line) => {
    const traits = new Set(traitsOf(line))
    const isNear = (group: string[]) => group.some((other) =>
      isSameNight(line, other) && traitsOf(other).some((trait) => traits.has(trait)))
    return [...groups.filter((group) => !isNear(group)), [line, ...groups.filter(isNear).flat()]]
  }, [])
}

function isConfirmed ({ confermata }: Entry): boolean {
  return confermata
}

function findLost ({ guests, status, ricevuta: reference, schedine }: ClientResponse, { persons }: Records): string[] {
  const acquired = (at: number) =>
    status === 200 || schedine?.find(({ ospite }) => ospite === at)?.esito === 'acquisita'
  return guests
    .filter((n, at) => acquired(at) && !persons.has(n))
    .map((n) => `person ${n}: the answer ${reference} says acquired, and the police has not`)
}

/** Finds guests reported as not sent whom the police acquired, unless another submission covers them. */
function findWronglyNotSent (
  { guests, status, codice, ricevuta: reference }: ClientResponse,
  { persons, byPerson }: Records
): string[] {
  if (status !== 422 || codice === undefined || !NOT_SENT.has(codice)) return []
  const elsewhere = (n: number) => byPerson.get(n)?.some((entry) => entry.ricevuta !== reference && isKnown(entry))
  return guests
    .filter((n) => persons.has(n) && !elsewhere(n))
    .map((n) => `person ${n}: the answer ${reference} says not sent, and the police has acquired`)
}

function findGoneReference ({ ricevuta: reference }: ClientResponse, { references }: Records): string[] {
  return reference === undefined || references.has(reference)
    ? []
    : [`${reference}: a client has this reference, and the ledger has not`]
}

function findNotAcquired ({ entries, identities }: Records): string[] {
  return entries
    .filter(({ esito, line }) => esito === 'acquisita' && !identities.has(identityOf(line)))
    .map(({ line, ricevuta: reference }) =>
      `person ${personOf(line)}: the ledger's ${reference} says acquired, and the police has not`)
}

function findUnfinished ({ entries }: Records): string[] {
  return entries
    .filter(({ stato, esito }) => !ENDED_STATES.has(stato) || (esito === 'in_corso' && stato !== 'da_verificare'))
    .map(({ ricevuta: reference, stato, esito }) => `${reference} is still ${stato}/${esito}`)
}

function findUnknownToLedger ({ identities, byIdentity }: Records): string[] {
  return [...identities]
    .filter((identity) => !byIdentity.get(identity)?.some(isKnown))
    .map((identity) => `${identity.trimEnd()}: the police has acquired, and the ledger does not know`)
}

async function findBrokenRecords ({ sql, db }: Pick<Connection, 'sql' | 'db'>): Promise<string[]> {
  const links = await brokenLinks(sql)
  const { prima_riga_errata: row } = await verifyChain(db, undefined)
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
