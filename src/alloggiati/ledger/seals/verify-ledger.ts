import { and, sql, type SQL } from 'drizzle-orm'
import type { VerificaInvii } from '#schemas/verifica-invii.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Day } from '#src/lib/time.ts'
import { HeadFileError, type ChainHead } from '#src/database/chain-head.ts'
import type { Database, Executor } from '#src/database/connect.ts'
import { faultOf, readHistories, type SealOf } from './sealed-history.ts'
import { isLedgersKey, sealOf } from './ledger-key.ts'

const BATCH = 200

/** What is verified: submissions by their arrival; without bounds the whole ledger. */
interface Range {
  from?: Day
  to?: Day
  /** Milliseconds after which what has been verified is answered. */
  withinMs?: number
}

type Verification = Omit<VerificaInvii, 'da' | 'a' | 'status'>

/**
 * Walks through the submissions of a range: each must be what its history says, link by link and seal by seal, and the
 * chain of all of them must be whole up to its end, which is noted outside of the database.
 */
export async function verifyLedger (
  db: Database, keys: Keys, chainHead: ChainHead, { from, to, withinMs = Infinity }: Range = {}
): Promise<Verification> {
  const until = performance.now() + withinMs
  const found: Verification = {
    integra: true, completa: true, invii_controllati: 0, anelli: 0, invii_errati: 0, prima_riga_errata: null
  }
  const add = (fault: Verification['prima_riga_errata']) => {
    found.integra = false
    found.prima_riga_errata ??= fault
  }
  const seal = sealOf(keys)
  let last = 0
  for (let more = true; more;) {
    if (performance.now() > until) {
      found.completa = false
      break
    }
    const histories = await snapshot(db, (tx) => readHistories(tx, within(from, to, last), BATCH))
    for (const history of histories) {
      const { invio_id: invio, ricevuta } = history.submission
      found.invii_controllati++
      found.anelli += history.links.length
      const motivo = faultOf(history, seal)
      if (motivo !== undefined) {
        found.invii_errati++
        add({ invio, ricevuta, motivo })
      }
      last = invio
    }
    more = histories.length === BATCH
  }
  const ofNone = (motivo: string) => add({ invio: null, ricevuta: null, motivo })
  const motivo = await faultOfChain(db, chainHead)
  if (motivo !== undefined) ofNone(motivo)
  if (await isLedgersKey(db, keys) !== true) ofNone('non è annotato con quale chiave il registro è sigillato')
  const other = await faultOfOthers(db, seal, from, () => performance.now() > until)
  if (other === 'late') found.completa = false
  else if (other) ofNone(other.motivo)
  return found
}

/** Whether a submission is what its history says. In a transaction of the isolation level `repeatable read`. */
export async function isIntact (db: Executor, keys: Keys, id: number): Promise<boolean> {
  const [history] = await readHistories(db, sql`i.id = ${id}`, 1)
  return history !== undefined && faultOf(history, sealOf(keys)) === undefined
}

/**
 * What is wrong with the chain as a whole. Its links are counted from 1 without a gap, and each belongs to a submission
 * that is there.
 */
async function faultOfChain (db: Database, chainHead: ChainHead): Promise<string | undefined> {
  try {
    if (!await chainHead.isIn(db)) return 'la fine della catena non è quella annotata fuori dall\'archivio'
  } catch (err) {
    if (!(err instanceof HeadFileError)) throw err
    return 'la fine della catena, annotata fuori dall\'archivio, non si può leggere'
  }
  const [counted] = await db.execute<{ links: number, last: number, orphans: number }>(sql`
    select count(*)::int as links, coalesce(max(t.id), 0) as last, count(*) filter (where i.id is null)::int as orphans
    from invii_transizioni t left join invii i on i.id = t.invio_id`)
  const { links, last, orphans } = counted!
  if (links !== last) return 'dalla catena è stata tolta una transizione'
  return orphans > 0 ? 'dal registro è stato tolto un invio' : undefined
}

function within (from: Day | undefined, to: Day | undefined, last: number): SQL {
  return and(
    sql`i.id > ${last}`,
    from === undefined ? undefined : sql`i.data_arrivo >= ${from}`,
    to === undefined ? undefined : sql`i.data_arrivo <= ${to}`
  )!
}

function snapshot<T> (db: Database, read: (tx: Executor) => Promise<T>): Promise<T> {
  return db.transaction(read, { isolationLevel: 'repeatable read', accessMode: 'read only' })
}

const KEYS_AT_A_TIME = 500

interface Other { chiave: string, giorno: Day | null, sigillo: Buffer | null, testo: string }

/** A sealed table whose rows belong to no submission. */
interface Table { name: string, key: SQL, first: SQL, day: SQL, fault: (day: Day | null) => string }

const TABLES: readonly Table[] = [
  {
    name: 'ricevute',
    key: sql`giorno`,
    first: sql`'-infinity'::date`,
    day: sql`giorno`,
    fault: (day) => `la ricevuta del ${day} è stata alterata`
  },
  {
    name: 'ricevute_letture',
    key: sql`id`,
    first: sql`0`,
    day: sql`giorno`,
    fault: (day) => `una lettura della ricevuta del ${day} è stata alterata`
  },
  {
    name: 'invii_sospensioni',
    key: sql`id`,
    first: sql`0`,
    day: sql`null::date`,
    fault: () => 'una sospensione è stata alterata'
  }
]

/**
 * Lists the faults of receipts (of the days since `from`), of the looks at them, and of suspensions, in Italian.
 * @returns `undefined` when all is well; `'late'` when the time was over before the end
 */
async function faultOfOthers (
  db: Executor, sealOf: SealOf, from: Day | undefined, isLate: () => boolean
): Promise<{ motivo: string } | 'late' | undefined> {
  for (const table of TABLES) {
    const ofDays = from === undefined ? sql`true` : sql`coalesce(${table.day} >= ${from}, true)`
    for (let last = table.first, more = true; more;) {
      if (isLate()) return 'late'
      const rows = await readBatch(db, table, last, ofDays)
      const broken = rows.find(({ sigillo, testo }) => sigillo === null || !sigillo.equals(sealOf(testo)))
      if (broken) return { motivo: table.fault(broken.giorno) }
      const end = rows.at(-1)
      more = end !== undefined
      if (end) last = table.name === 'ricevute' ? sql`${end.chiave}::date` : sql`${end.chiave}::integer`
    }
  }
  return undefined
}

/** The rows of the next keys: a day may have receipts of several accounts. */
async function readBatch (db: Executor, table: Table, last: SQL, condition: SQL): Promise<readonly Other[]> {
  const { name, key, day } = table
  const from = sql.identifier(name)
  return db.execute<Other & Record<string, unknown>>(sql`
    select ${key}::text as chiave, ${day}::text as giorno, sigillo,
      testo_da_sigillare(${name}, to_jsonb(r)) as testo
    from ${from} r where ${key} in (
      select distinct ${key} from ${from} where ${key} > ${last} and ${condition} order by 1 limit ${KEYS_AT_A_TIME})
    order by ${key}`)
}
