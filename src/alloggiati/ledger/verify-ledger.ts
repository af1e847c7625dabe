import { and, sql, type SQL } from 'drizzle-orm'
import { DECISIONS, UNFINISHED_STATES } from '#schemas/submission.ts'
import type { VerificaInvii } from '#schemas/verifica-invii.ts'
import { HeadFileError, type ChainHead } from '#src/database/chain-head.ts'
import type { Executor } from '#src/database/connect.ts'
import type { Day } from '#src/lib/time.ts'
import { ACCEPTED } from './moves.ts'

/** Number of submissions that one statement checks, to stay within the statement timeout. */
const BATCH = 500

/** The submissions to verify, by day of arrival. Without bounds, the whole ledger is verified. */
interface Range {
  from?: Day
  to?: Day
  /** Time budget in milliseconds. When it is used up, the partial result is returned. */
  withinMs?: number
}

type Verification = Omit<VerificaInvii, 'da' | 'a' | 'status'>

interface Judged extends Record<string, unknown> {
  invio: number
  ricevuta: string
  anelli: number
  /** The reason, in Italian, why the ledger is not intact. */
  motivo: string | null
}

/**
 * Verifies the submissions of a range. Each submission must match its history link by link. The chain must be complete
 * up to the head noted in `DATA_DIR`.
 */
export async function verifyLedger (
  db: Executor, chainHead: ChainHead, { from, to, withinMs = Infinity }: Range = {}
): Promise<Verification> {
  const until = performance.now() + withinMs
  const found: Verification = {
    integra: true, completa: true, invii_controllati: 0, anelli: 0, invii_errati: 0, prima_riga_errata: null
  }
  let last = 0
  for (let more = true; more;) {
    if (performance.now() > until) {
      found.completa = false
      break
    }
    const judged = await judgeSubmissions(db, within(from, to, last))
    for (const { invio, ricevuta, anelli, motivo } of judged) {
      found.invii_controllati++
      found.anelli += anelli
      last = invio
      if (motivo === null) continue
      found.invii_errati++
      found.prima_riga_errata ??= { invio, ricevuta, motivo }
    }
    more = judged.length === BATCH
  }
  const motivo = await faultOfChain(db, chainHead)
  if (motivo !== undefined) found.prima_riga_errata ??= { invio: null, ricevuta: null, motivo }
  found.integra = found.prima_riga_errata === null
  return found
}

/** Whether a submission matches its history. */
export async function isIntact (db: Executor, id: number): Promise<boolean> {
  const [judged] = await judgeSubmissions(db, sql`id = ${id}`)
  return judged?.motivo === null
}

/**
 * Checks the chain as a whole: it contains the head noted in `DATA_DIR`, its links are numbered from 1 without gaps,
 * and each belongs to an existing submission. Returns the first error found.
 */
async function faultOfChain (db: Executor, chainHead: ChainHead): Promise<string | undefined> {
  try {
    if (!await chainHead.isIn(db)) return 'la fine della catena non è quella annotata fuori dall’archivio'
  } catch (err) {
    if (!(err instanceof HeadFileError)) throw err
    return 'la fine della catena, annotata fuori dall’archivio, non si può leggere'
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
    sql`id > ${last}`,
    from === undefined ? undefined : sql`data_arrivo >= ${from}`,
    to === undefined ? undefined : sql`data_arrivo <= ${to}`
  )!
}

/** The links of the chosen submissions. Each has its position, and the evidence that its transition requires. */
const LINKS = sql`
  select t.id, t.invio_id, t.a, t.perche, m.serve,
    t.hash is distinct from catena_hash(p.hash, to_jsonb(t)) as alterato,
    t.da is distinct from lag(t.a) over storia as staccato,
    row_number() over storia - 1 as versione
  from invii_transizioni t join scelti on scelti.id = t.invio_id
  left join invii_transizioni p on p.id = t.id - 1
  left join invii_transizioni_ammesse m on m.da = t.da and m.a = t.a
  window storia as (partition by t.invio_id order by t.id)`

/** Aggregates the links of a submission `i`. A decision names the version before its own link. */
const HISTORY = sql`
  select count(*)::int as anelli, min(id) filter (where alterato) as alterato,
    min(id) filter (where staccato) as staccato, max(versione) as versione,
    count(*) filter (where a = 'in_invio') as tentativi,
    (array_agg(a order by id desc))[1] as stato, (array_agg(serve order by id desc))[1] as serve,
    bool_or(perche = ${ACCEPTED.confirmed}) as confermato,
    bool_or(serve in ${DECISIONS} and not exists (
      select from invii_decisioni d
      where d.invio_id = i.id and d.versione = anelli.versione - 1 and d.decisione = serve)) as indeciso
  from anelli where invio_id = i.id`

/** Aggregates the attempts of a submission `i`. The attempt in flight has no outcome yet. */
const ATTEMPTS = sql`
  select count(*) as quanti, coalesce(max(numero), 0) as ultimo,
    bool_or(not (i.stato = 'in_invio' and numero = i.tentativo) and not exists (
      select from invii_esiti e where e.invio_id = t.invio_id and e.numero = t.numero)) as senza_esito
  from invii_tentativi t where t.invio_id = i.id`

/** Aggregates the rows of a submission `i`. Finds outcomes that a row of an ended submission cannot have. */
const ROWS = sql`
  select bool_or(confermata) as confermate, bool_or(
    esito = 'in_corso' and i.stato not in ${UNFINISHED_STATES} or
    esito = 'sconosciuta' and i.stato in ('acquisito', 'ricevuto')) as impossibili
  from invii_schedine where invio_id = i.id`

/** Checks at most `BATCH` submissions in order of id. One statement sees one snapshot. */
async function judgeSubmissions (db: Executor, condition: SQL): Promise<readonly Judged[]> {
  return db.execute<Judged>(sql`
    with scelti as materialized (select * from invii where ${condition} order by id limit ${BATCH}),
    anelli as materialized (${LINKS})
    select i.id as invio, i.ricevuta, storia.anelli, case
      when storia.alterato is not null
        then 'la transizione ' || storia.alterato || ' è stata alterata, o manca quella prima'
      when storia.staccato is not null then 'manca una transizione prima della ' || storia.staccato
      when (i.stato, i.versione, i.tentativo) is distinct from (storia.stato, storia.versione, storia.tentativi)
        then 'stato, versione o numero dei tentativi non sono quelli delle sue transizioni'
      when (i.tentativo, i.tentativo) is distinct from (tentativi.quanti, tentativi.ultimo)
        then 'un tentativo manca, o è di troppo'
      when tentativi.senza_esito then 'di un tentativo manca l''esito'
      when storia.indeciso then 'una decisione manca'
      when storia.serve in ('esito_K', 'ricevuta') and not invii_prova(i, 'esito_K')
        then 'manca la prova che è stato acquisito'
      when storia.serve = 'tutti_N' and not invii_prova(i, 'tutti_N')
        then 'manca la prova che niente è stato acquisito'
      when righe.impossibili then 'l’esito di una schedina non è possibile in questo stato'
      when (storia.confermato or righe.confermate) and not exists (
        select from invii_conferme c where c.invio_id = i.id) then 'manca la conferma'
    end as motivo
    from invii i join scelti using (id)
    cross join lateral (${HISTORY}) storia
    cross join lateral (${ATTEMPTS}) tentativi
    cross join lateral (${ROWS}) righe
    order by i.id`)
}
