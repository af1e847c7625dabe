import { sql, type SQL } from 'drizzle-orm'
import type { AttemptOutcome, DecisionName, RowOutcome, State } from '#schemas/submission.ts'
import type { Executor } from '#src/database/connect.ts'

/*
 * What is stored of submissions, each row with its seal and the text that the seal is of.
 *
 * Without a seal are counts, alarms, numbering, code tables, the permitted transitions, whether an account is
 * exclusive, and bookings. Nothing tells of a correction, a suspension, a receipt or a look at one that was deleted,
 * nor of a receipt that was put back as it once was.
 */

/** A stored row. Its seal is null when somebody removed it behind the triggers. */
export interface Sealed { invio_id: number, sigillo: Buffer | null, testo: string }

/** A link of the chain, with what its hash is made of. */
export interface StoredLink {
  id: number
  invio_id: number
  da: State | null
  a: State
  perche: string
  hash: Buffer
  /** The text that is hashed, with the hash of the link before. */
  testo: string
}

export interface StoredSubmission extends Sealed {
  ricevuta: string
  stato: State
  versione: number
  tentativo: number
}
export interface StoredRow extends Sealed {
  esito: RowOutcome
  confermata: boolean
  /** Its record was erased. */
  cancellata: boolean
}
export interface StoredAttempt extends Sealed { numero: number }
export interface StoredObservation extends Sealed { numero: number, esito: AttemptOutcome }
export interface StoredDecision extends Sealed { versione: number, decisione: DecisionName }

/** All that belongs to one submission. */
export interface StoredHistory {
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
  const links = await readLinks(db, sql`t.invio_id = any(${ids}::int[])`)
  const rows = await db.execute<Loose<StoredRow>>(sql`
    select invio_id, esito, confermata, riga is null as cancellata, sigillo,
      testo_da_sigillare('invii_schedine', to_jsonb(s)) as testo
    from invii_schedine s where invio_id = any(${ids}::int[])`)
  const attempts = await db.execute<Loose<StoredAttempt>>(sql`
    select invio_id, numero, sigillo, testo_da_sigillare('invii_tentativi', to_jsonb(t)) as testo
    from invii_tentativi t where invio_id = any(${ids}::int[]) order by invio_id, numero`)
  const observations = await db.execute<Loose<StoredObservation>>(sql`
    select invio_id, numero, esito, sigillo, testo_da_sigillare('invii_esiti', to_jsonb(e)) as testo
    from invii_esiti e where invio_id = any(${ids}::int[])`)
  const decisions = await db.execute<Loose<StoredDecision>>(sql`
    select invio_id, versione, decisione, sigillo, testo_da_sigillare('invii_decisioni', to_jsonb(d)) as testo
    from invii_decisioni d where invio_id = any(${ids}::int[])`)
  const sealed = (table: string) => db.execute<Loose<Sealed>>(sql`
    select invio_id, sigillo, testo_da_sigillare(${table}, to_jsonb(r)) as testo
    from ${sql.identifier(table)} r where invio_id = any(${ids}::int[])`)
  const parts = {
    links: bySubmission(links),
    rows: bySubmission(rows),
    attempts: bySubmission(attempts),
    observations: bySubmission(observations),
    decisions: bySubmission(decisions),
    confirmations: bySubmission(await sealed('invii_conferme')),
    corrections: bySubmission(await sealed('invii_correzioni')),
    erasures: bySubmission(await sealed('invii_cancellazioni'))
  }
  return submissions.map((submission) => {
    const { invio_id: id } = submission
    return {
      submission,
      links: parts.links.get(id) ?? [],
      rows: parts.rows.get(id) ?? [],
      attempts: parts.attempts.get(id) ?? [],
      observations: parts.observations.get(id) ?? [],
      decisions: parts.decisions.get(id) ?? [],
      confirmations: parts.confirmations.get(id) ?? [],
      corrections: parts.corrections.get(id) ?? [],
      erasures: parts.erasures.get(id) ?? []
    }
  })
}

/** Links of the chain in order. */
async function readLinks (db: Executor, condition: SQL): Promise<readonly StoredLink[]> {
  return db.execute<Loose<StoredLink>>(sql`
    select t.id, t.invio_id, t.da, t.a, t.perche, t.hash,
      testo_dell_anello(p.hash, t.id, t.invio_id, t.da, t.a, t.chi, t.perche, t.quando, case when t.da is not null
        then (select count(*)::int from invii_schedine s where s.invio_id = t.invio_id) end) as testo
    from invii_transizioni t left join invii_transizioni p on p.id = t.id - 1
    where ${condition} order by t.id`)
}

/** Drizzle wants an index signature. */
type Loose<T> = T & Record<string, unknown>

function bySubmission<T extends { invio_id: number }> (found: Iterable<T>): Map<number, T[]> {
  return Map.groupBy(found, ({ invio_id }) => invio_id)
}
