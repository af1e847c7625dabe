import { and, asc, eq, inArray, max, type SQL } from 'drizzle-orm'
import { invii_decisioni as decisions, invii_correzioni as corrections } from '#drizzle/tables/decisions.ts'
import {
  invii, invii_esiti as observations, invii_schedine as schedine, invii_tentativi as attemptTable
} from '#drizzle/tables/ledger.ts'
import type { FieldError } from '#schemas/common.ts'
import { lockForShare } from '#src/bookings/index.ts'
import type { DecisionBody, CorrectionBody } from '#schemas/decisions.ts'
import {
  isDecidable, UNRESOLVED_ROW_OUTCOMES, type DecisionName, type RowOutcome, type State
} from '#schemas/submission.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import type { Clock, Day } from '#src/lib/time.ts'
import type { Audit, Author } from '#src/services/audit/log.ts'
import type { Database, Transaction } from '#src/database/connect.ts'
import { DecisioneNonPossibile, InvioCambiato, InvioNonTrovato, NullaDaDecidere } from '../errors.ts'
import { readAttempts } from './read-ledger.ts'
import type { BeforeReady } from '../police-hooks.ts'
import { lockChain, move, moveRows } from './moves.ts'
import { reserveIn, type ReserveContext, type Reserved, type Submission } from './reserve.ts'
import { sumNights } from './submission-rows.ts'
import type { InvioDetail } from '#schemas/invio.ts'
import { arrivalWindowOpen } from '../deadlines.ts'

/** The target state of each decision, and the beginning of the reason that the chain records. */
const TARGETS: Readonly<Record<DecisionName, { a: State, perche: string }>> = {
  reinvia: { a: 'pronto', perche: 'decisione: inviare di nuovo, rischio accettato' },
  acquisito: { a: 'acquisito', perche: 'prova o decisione: acquisito' },
  depositato: { a: 'depositato_altrove', perche: 'decisione: comunicato per altra via' },
  annulla: { a: 'annullato', perche: 'decisione: abbandonato' }
}

interface DecisionContext {
  db: Database
  audit: Audit
  clock: Clock
  scope: SQL
  /** Hooks that can refuse `reinvia`, because it causes another Send. */
  beforeReady: readonly BeforeReady[]
  /** The accounts in use. A submission of another account cannot be resent. */
  inUse: readonly string[]
}

export function decisionErrors ({ decisione, protocollo }: Readonly<Record<string, unknown>>): FieldError[] {
  if (decisione !== 'depositato' || protocollo !== undefined) return []
  return [{ campo: 'protocollo', messaggio: 'è un campo obbligatorio per depositato' }]
}

/**
 * Records a person's decision on a submission, and moves the submission in the same transaction. A person can decide
 * only on a submission that no rule can settle, and cancel one that waits. When two persons decide concurrently, the
 * second decision is refused, because its version is stale.
 * @throws InvioNonTrovato, InvioCambiato, NullaDaDecidere, DecisioneNonPossibile, CampiNonValidi,
 * RegistroNonDisponibile, and errors of `beforeReady` hooks
 * @returns the account of the submission
 */
export async function decide (
  { db, audit, clock, scope, beforeReady, inUse }: DecisionContext,
  id: number,
  body: DecisionBody,
  author: Author
): Promise<string> {
  const { decisione, motivo, protocollo } = body
  const { actor: chi } = author
  return await db.transaction(async (tx) => {
    if (decisione === 'reinvia') for (const hook of beforeReady) await hook(tx)
    // Lock the bookings before the chain, as `reserve` does, to prevent deadlocks.
    const isUnconfirmed = decisione === 'reinvia' && await hasUnconfirmedBooking(tx, id)
    await lockChain(tx)
    const [submission] = await tx.select().from(invii).where(and(scope, eq(invii.id, id))).for('update')
    if (!submission) throw new InvioNonTrovato()
    const { stato, data_arrivo, utente } = submission
    const { versione } = submission
    if (versione !== body.versione) throw new InvioCambiato(String(versione), stato)
    const canBeWithdrawn = stato === 'pronto' && decisione === 'annulla'
    if (!isDecidable(stato) && !canBeWithdrawn) throw new NullaDaDecidere(stato)
    await checkPhrase(tx, id, data_arrivo, body.conferma)
    const circumstances = {
      data_arrivo, isUnconfirmed, now: clock.now(), today: clock.today(), ownAccount: inUse.includes(utente)
    }
    const facts = { ...await readFacts(tx, id), ...circumstances }
    const reason = findObstacle(decisione, facts)
    if (reason !== undefined) throw new DecisioneNonPossibile(reason)

    await settle(tx, { id, stato, versione }, { decisione, motivo, protocollo, chi }, facts)
    await audit.append(tx, { ...author, action: 'decisione', object: `invio:${id}`, details: { decisione } })
    return utente
  })
}

interface Decided extends Pick<DecisionBody, 'decisione' | 'motivo' | 'protocollo'> { chi: string }

/** Records a decision and moves the submission and its rows. */
async function settle (
  tx: Transaction,
  { id, stato, versione }: Pick<typeof invii.$inferSelect, 'id' | 'stato' | 'versione'>,
  { decisione, motivo, protocollo, chi }: Decided,
  history: History
): Promise<void> {
  const isExamined = stato === 'da_verificare'
  if (!isExamined) await move(tx, id, { da: stato, a: 'da_verificare', chi, perche: 'una persona lo prende in esame' })
  await tx.insert(decisions)
    .values({ invio_id: id, versione: versione + (isExamined ? 0 : 1), decisione, chi, motivo, protocollo })
  await applyToRows(tx, id, decisione, history)
  const { a, perche } = TARGETS[decisione]
  // The chain includes the reason, so a later change of the reason is detected.
  await move(tx, id, { da: 'da_verificare', a, chi, perche: `${perche}: ${motivo}` })
}

/**
 * Records guests who were declared by certified mail. The submission is inserted and decided in one transaction, so it
 * is never sent.
 * @throws the errors of `reserve`
 */
export function recordDeposit (
  context: ReserveContext, submission: Submission, { motivo, protocollo }: Pick<DecisionBody, 'motivo' | 'protocollo'>
): Promise<Reserved> {
  return context.db.transaction(async (tx) => {
    const reserved = await reserveIn(tx, context, submission)
    const decided = { decisione: 'depositato' as const, motivo, protocollo, chi: submission.operatore }
    const history = { attempts: [], decidedAcquired: false, proven: false, concerned: UNRESOLVED_ROW_OUTCOMES }
    await settle(tx, { id: reserved.id, stato: 'pronto', versione: 0 }, decided, history)
    return reserved
  })
}

/** Locks the bookings of a submission, and returns whether one of them is not confirmed. */
async function hasUnconfirmedBooking (tx: Transaction, id: number): Promise<boolean> {
  const rows = await tx.selectDistinct({ booking: schedine.prenotazione_id }).from(schedine)
    .where(eq(schedine.invio_id, id))
  const kept = await lockForShare(tx, rows.flatMap(({ booking }) => booking ?? []))
  return [...kept.values()].some(({ stato }) => stato !== 'confermata')
}

/** Checks the phrase that the person typed. It names this submission by its number of guests and its arrival. */
async function checkPhrase (tx: Transaction, id: number, data_arrivo: string, typed: string): Promise<void> {
  const guests = await tx.$count(schedine, eq(schedine.invio_id, id))
  const expected = `${countWithNoun(guests, 'ospite', 'ospiti')} ${data_arrivo}`
  if (typed.trim().replace(/\s+/g, ' ').toLowerCase() !== expected) {
    throw new CampiNonValidi({ campo: 'conferma', messaggio: `deve essere «${expected}»` })
  }
}

type HistoryFacts = Awaited<ReturnType<typeof readFacts>>
interface History extends Pick<HistoryFacts, 'attempts' | 'decidedAcquired' | 'proven'> {
  concerned: readonly RowOutcome[]
}

async function readFacts (tx: Transaction, id: number) {
  const attempts = await readAttempts(tx, id)
  const acquired = attempts.flatMap(({ osservazioni }) => osservazioni).filter(({ esito }) => esito === 'K')
  // `decidedAcquired`: only a decision says that the guests were acquired. `proven`: a reply or a receipt proves it.
  const decidedAcquired = acquired.some(({ fonte }) => fonte === 'decisione')
  const proven = acquired.some(({ fonte }) => fonte !== 'decisione')
  // A person can decide again while only a decision says that the guests were acquired.
  const concerned: RowOutcome[] = [...UNRESOLVED_ROW_OUTCOMES]
  if (decidedAcquired && !proven) concerned.push('acquisita')
  const concernedRows = await tx.$count(schedine, and(eq(schedine.invio_id, id), inArray(schedine.esito, concerned)))
  const deliveryEnds = await readDeliveryEnd(tx, id, attempts)
  return { attempts, deliveryEnds, decidedAcquired, proven, concerned, concernedRows }
}

/** The instant until which the service may still process an attempt that may have reached it. Null if there is none. */
async function readDeliveryEnd (
  tx: Transaction, id: number, attempts: InvioDetail['tentativi']
): Promise<Date | null> {
  const inDoubt = attempts.filter(({ esito }) => esito !== 'N').map(({ numero }) => numero)
  const [last] = await tx
    .select({ at: max(attemptTable.consegna_entro) })
    .from(attemptTable)
    .where(and(eq(attemptTable.invio_id, id), inArray(attemptTable.numero, inDoubt)))
  return last?.at ? new Date(last.at) : null
}

async function applyToRows (
  tx: Transaction,
  id: number,
  decisione: DecisionName,
  { attempts, decidedAcquired, proven, concerned }: History
): Promise<void> {
  if (decisione === 'acquisito' && !proven && !decidedAcquired) {
    await observeAcquired(tx, id, attempts.findLast(({ esito }) => esito !== 'N')!.numero)
  }
  // Cancelling frees only guests who were certainly not acquired, because only these can be sent again.
  const cancelled = attempts.every(({ esito }) => esito === 'N') ? 'annullata' : 'sconosciuta'
  const outcome = { reinvia: 'in_corso', acquisito: 'acquisita', depositato: 'depositata', annulla: cancelled } as const
  for (const esito of concerned) await moveRows(tx, id, outcome[decisione], esito)
}

async function observeAcquired (tx: Transaction, id: number, numero: number): Promise<void> {
  const rows = await tx
    .select({ permanenza: schedine.permanenza })
    .from(schedine)
    .where(and(eq(schedine.invio_id, id), inArray(schedine.esito, UNRESOLVED_ROW_OUTCOMES)))
    .orderBy(asc(schedine.indice))
  const counts = { schedine: rows.length, notti: sumNights(rows) }
  await tx.insert(observations).values({ invio_id: id, numero, esito: 'K', fonte: 'decisione', ...counts })
}

/**
 * Records that the host asked the questura for a correction. Only the questura can correct its data.
 * @throws InvioNonTrovato, CampiNonValidi for a row that does not belong to the submission
 */
export async function recordCorrection (
  tx: Transaction,
  audit: Audit,
  scope: SQL,
  id: number,
  { motivo, protocollo, riga }: CorrectionBody,
  author: Author
): Promise<void> {
  const [found] = await tx.select({ ricevuta: invii.ricevuta }).from(invii).where(and(scope, eq(invii.id, id)))
  if (!found) throw new InvioNonTrovato()
  if (riga !== undefined) {
    const rows = await tx.$count(schedine, and(eq(schedine.invio_id, id), eq(schedine.indice, riga)))
    if (rows === 0) throw new CampiNonValidi({ campo: 'riga', messaggio: 'non è una schedina dell’invio' })
  }
  await tx.insert(corrections).values({ invio_id: id, indice: riga, chi: author.actor, motivo, protocollo })
  await audit.append(tx, { ...author, action: 'correzione', object: `invio:${found.ricevuta}`, details: { id } })
}

interface DecisionFacts extends HistoryFacts {
  data_arrivo: Day
  /** A booking of the submission is not confirmed, so its guests need no schedine. */
  isUnconfirmed: boolean
  now: Date
  today: Day
  /** The account that sent the submission is still in use. */
  ownAccount: boolean
}

const MINUTE_MS = 60_000

/** The reason why a decision is not possible, in Italian. Undefined when it is possible. */
function findObstacle (
  decisione: DecisionName,
  { attempts, proven, decidedAcquired, concernedRows, deliveryEnds, data_arrivo, isUnconfirmed, ...at }: DecisionFacts
): string | undefined {
  const { now, today, ownAccount } = at
  if (decisione === 'depositato') return undefined
  if (decisione === 'acquisito') {
    const mayBe = proven || decidedAcquired || attempts.some(({ esito }) => esito !== 'N')
    return mayBe ? undefined : 'nessun tentativo può essere stato acquisito'
  }
  if (proven) return 'è provato che il servizio ha acquisito queste schedine'
  if (decisione === 'annulla') return undefined
  if (concernedRows === 0) return 'nessuna schedina è in dubbio'
  if (isUnconfirmed) return 'una prenotazione di questo invio non è confermata'
  if (!ownAccount) return 'l’invio è di un altro account'
  if (!arrivalWindowOpen(data_arrivo, today)) {
    return 'la finestra di arrivo è chiusa, il servizio accetta solo arrivi di oggi o di ieri. ' +
      'Va comunicato per altra via'
  }
  if (deliveryEnds === null || now >= deliveryEnds) return undefined
  // If the earlier attempt still reaches the service after a resend, the guests are acquired twice.
  return 'il servizio può ancora ricevere il tentativo precedente. ' +
    `Si può inviare di nuovo dalle ${nextMinuteInRome(deliveryEnds)}`
}

/** The instant in Rome, rounded up to the minute, as `HH:MM`. */
function nextMinuteInRome (instant: Date): string {
  const minute = new Date(Math.ceil(instant.getTime() / MINUTE_MS) * MINUTE_MS)
  return minute.toLocaleTimeString('it-IT', { timeZone: 'Europe/Rome', hour: '2-digit', minute: '2-digit' })
}
