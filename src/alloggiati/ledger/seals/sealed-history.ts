import { sql, type SQL } from 'drizzle-orm'
import type { AttemptOutcome, DecisionName, RowOutcome, State } from '#schemas/submission.ts'
import type { Executor } from '#src/database/connect.ts'
import { ACCEPTED, TRANSITIONS, type Evidence } from '../transitions.ts'

/*
 * Reads the stored rows of submissions, each with its seal and the text that the seal covers.
 *
 * Without a seal are counts, alarms, numbering, code tables, the permitted transitions, whether an account is
 * exclusive, and bookings. Nothing tells of a correction, a suspension, a receipt or a look at one that was deleted,
 * nor of a receipt that was put back as it once was.
 */

/** A stored row. Its seal is null when somebody removed it behind the triggers. */
interface Sealed { invio_id: number, sigillo: Buffer | null, testo: string }

/** A link of the chain, with what its hash is made of. */
interface StoredLink {
  id: number
  invio_id: number
  da: State | null
  a: State
  perche: string
  hash: Buffer
  /** The text that is hashed, with the hash of the link before. */
  testo: string
}

interface StoredSubmission extends Sealed {
  ricevuta: string
  stato: State
  versione: number
  tentativo: number
}
interface StoredRow extends Sealed {
  esito: RowOutcome
  confermata: boolean
  cancellata: boolean
}
interface StoredAttempt extends Sealed { numero: number }
interface StoredObservation extends Sealed { numero: number, esito: AttemptOutcome }
interface StoredDecision extends Sealed { versione: number, decisione: DecisionName }

interface StoredHistory {
  submission: StoredSubmission
  links: StoredLink[]
  rows: StoredRow[]
  attempts: StoredAttempt[]
  observations: StoredObservation[]
  decisions: StoredDecision[]
  confirmations: Sealed[]
  corrections: Sealed[]
  erasures: Sealed[]
}

/**
 * The histories of submissions, in the order of their ids, at most `limit`. To be read in a transaction of the
 * isolation level `repeatable read`: otherwise a submission that moves meanwhile looks altered.
 */
export async function readHistories (db: Executor, condition: SQL, limit: number): Promise<StoredHistory[]> {
  const submissions = await db.execute<Loose<StoredSubmission>>(sql`
    select i.id as invio_id, i.ricevuta, i.stato, i.versione, i.tentativo, i.sigillo,
      testo_da_sigillare('invii', to_jsonb(i)) as testo
    from invii i where ${condition} order by i.id limit ${limit}`)
  const ids = sql.param(`{${submissions.map(({ invio_id }) => invio_id).join()}}`)
  const read = async <Part extends Sealed>(table: string, columns: SQL) => bySubmission(
    await db.execute<Part & Record<string, unknown>>(sql`
      select invio_id, ${columns}, sigillo, testo_da_sigillare(${table}, to_jsonb(r)) as testo
      from ${sql.identifier(table)} r where invio_id = any(${ids}::int[]) order by 1, 2`))
  const links = bySubmission(await readLinks(db, sql`t.invio_id = any(${ids}::int[])`))
  const rows = await read<StoredRow>('invii_schedine', sql`indice, esito, confermata, riga is null as cancellata`)
  const attempts = await read<StoredAttempt>('invii_tentativi', sql`numero`)
  const observations = await read<StoredObservation>('invii_esiti', sql`numero, esito`)
  const decisions = await read<StoredDecision>('invii_decisioni', sql`versione, decisione`)
  const confirmations = await read('invii_conferme', sql`quando`)
  const corrections = await read('invii_correzioni', sql`quando`)
  const erasures = await read('invii_cancellazioni', sql`quando`)
  return submissions.map((submission) => {
    const { invio_id: id } = submission
    return {
      submission,
      links: links.get(id) ?? [],
      rows: rows.get(id) ?? [],
      attempts: attempts.get(id) ?? [],
      observations: observations.get(id) ?? [],
      decisions: decisions.get(id) ?? [],
      confirmations: confirmations.get(id) ?? [],
      corrections: corrections.get(id) ?? [],
      erasures: erasures.get(id) ?? []
    }
  })
}

async function readLinks (db: Executor, condition: SQL): Promise<readonly StoredLink[]> {
  return db.execute<Loose<StoredLink>>(sql`
    select t.id, t.invio_id, t.da, t.a, t.perche, t.hash,
      testo_dell_anello(p.hash, t.id, t.invio_id, t.da, t.a, t.chi, t.perche, t.quando, case when t.da is not null
        then (select count(*)::int from invii_schedine s where s.invio_id = t.invio_id) end) as testo
    from invii_transizioni t left join invii_transizioni p on p.id = t.id - 1
    where ${condition} order by t.id`)
}

type Loose<T> = T & Record<string, unknown>

function bySubmission<T extends { invio_id: number }> (found: Iterable<T>): Map<number, T[]> {
  return Map.groupBy(found, ({ invio_id }) => invio_id)
}

export type SealOf = (text: string) => Buffer

/** Row outcomes that have ended when their submission has. */
const NO_LONGER: Partial<Record<State, readonly RowOutcome[]>> = {
  acquisito: ['in_corso', 'sconosciuta'],
  ricevuto: ['in_corso', 'sconosciuta'],
  parziale: ['in_corso'],
  rifiutato: ['in_corso'],
  non_inviato: ['in_corso'],
  depositato_altrove: ['in_corso'],
  annullato: ['in_corso']
}

/** What is wrong with a submission, Italian; undefined when all of it is as the ledger wrote it. */
export function faultOf (history: StoredHistory, sealOf: SealOf): string | undefined {
  return faultOfLinks(history, sealOf) ?? faultOfSeals(history, sealOf) ??
    faultOfEvidence(history) ?? faultOfRows(history)
}

function faultOfLinks ({ submission, links }: StoredHistory, sealOf: SealOf): string | undefined {
  for (const [at, link] of links.entries()) {
    if (!link.hash.equals(sealOf(link.testo))) return `la transizione ${link.id} è stata alterata, o manca quella prima`
    if (link.da !== (links[at - 1]?.a ?? null)) return `manca una transizione prima della ${link.id}`
  }
  const attempts = links.filter(({ a }) => a === 'in_invio').length
  const last = links.at(-1)
  const fits =
    last !== undefined &&
    last.a === submission.stato &&
    links.length - 1 === submission.versione &&
    attempts === submission.tentativo
  return fits ? undefined : 'stato, versione o numero dei tentativi non sono quelli delle sue transizioni'
}

function faultOfSeals (history: StoredHistory, sealOf: SealOf): string | undefined {
  const { submission, rows, attempts, observations, decisions, confirmations, corrections, erasures } = history
  const isBroken = ({ sigillo, testo }: Sealed) => sigillo === null || !sigillo.equals(sealOf(testo))
  if (isBroken(submission)) return 'i dati dell\'invio sono stati alterati'
  if (rows.some(isBroken)) return 'una schedina è stata alterata'
  if (attempts.some(isBroken)) return 'un tentativo è stato alterato'
  if (observations.some(isBroken)) return 'l\'esito di un tentativo è stato alterato'
  if (decisions.some(isBroken)) return 'una decisione è stata alterata'
  if (confirmations.some(isBroken)) return 'la conferma è stata alterata'
  if (corrections.some(isBroken)) return 'una richiesta di correzione è stata alterata'
  return erasures.some(isBroken) ? 'la cancellazione delle schedine è stata alterata' : undefined
}

/** What was taken away, or put back as it once was, has no seal to tell of it. */
function faultOfEvidence ({ submission, links, rows, attempts, observations, decisions }: StoredHistory) {
  const { stato, tentativo } = submission
  if (attempts.length !== tentativo || attempts.some(({ numero }, at) => numero !== at + 1)) {
    return 'un tentativo manca, o è di troppo'
  }
  const open = stato === 'in_invio' ? tentativo : 0
  const outcomes = (numero: number) => observations.filter((each) => each.numero === numero).map(({ esito }) => esito)
  if (attempts.some(({ numero }) => numero !== open && outcomes(numero).length === 0)) {
    return 'di un tentativo manca l\'esito'
  }
  const missing = links.some(({ da, a }, version) => {
    const serve = TRANSITIONS.find((each) => each.da === da && each.a === a)?.serve
    return isDecision(serve) && !decisions.some((each) => each.versione === version - 1 && each.decisione === serve)
  })
  if (missing) return 'una decisione manca'
  const last = links.at(-1)!
  const serve = TRANSITIONS.find(({ da, a }) => da === last.da && a === last.a)?.serve
  const acquired = observations.some(({ esito }) => esito === 'K')
  const refused = attempts.every(({ numero }) => outcomes(numero).includes('N'))
  if ((serve === 'esito_K' || serve === 'ricevuta') && !acquired) return 'manca la prova che è stato acquisito'
  if (serve === 'tutti_N' && !refused) return 'manca la prova che niente è stato acquisito'
  const ended = NO_LONGER[stato] ?? []
  return rows.some(({ esito }) => ended.includes(esito)) ? 'una schedina è stata riportata indietro' : undefined
}

/**
 * A row that passes for another guest's has a confirmation, and one without its record an erasure. Of a confirmation
 * that let more guests pass than the booking says, the chain alone tells.
 */
function faultOfRows ({ links, rows, confirmations, erasures }: StoredHistory): string | undefined {
  const isConfirmed = links[0]!.perche === ACCEPTED.confirmed || rows.some(({ confermata }) => confermata)
  if (isConfirmed && confirmations.length === 0) return 'manca la conferma'
  const isErased = rows.some(({ cancellata }) => cancellata)
  if (erasures.length === 0 && isErased) return 'manca la cancellazione delle schedine'
  const isBack = erasures.length > 0 && rows.some(({ cancellata }) => !cancellata)
  return isBack ? 'una schedina cancellata è stata riportata indietro' : undefined
}

function isDecision (serve: Evidence | undefined): boolean {
  return serve === 'reinvia' || serve === 'depositato' || serve === 'annulla'
}
