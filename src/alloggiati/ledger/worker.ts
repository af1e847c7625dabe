import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { and, asc, eq, sql } from 'drizzle-orm'
import { invii, invii_schedine as schedine } from '#drizzle/tables/alloggiati.ts'
import type { Executor } from '#src/plugins/database/connect.ts'
import { postgresError } from '#src/plugins/database/problems.ts'
import { arrivalWindowOpen } from '../deadlines.ts'
import { deliver, methodFor } from '../service/calls.ts'
import { classifyFailure, classifyLogin, classifyReply, type RowVerdict, type Verdict } from './classify.ts'
import { reached, type LedgerContext } from './context.ts'
import { dispatch } from './dispatch.ts'
import { holdOrStop } from './hold.ts'
import { LEASE, move, moveRows } from './moves.ts'
import { rowsOf, type Row } from './rows.ts'
import { inDoubt, settle } from './settle.ts'
import type { State } from '#schemas/submission.ts'

/** How long a caller waits for the account's flight to be free. */
const QUEUE_MS = 45_000
const QUEUE_STEP_MS = 100
/** Until a submission that nobody waits for is tried again. */
const RETRY = sql`now() + interval '5 minutes'`

/** Where a submission stands, row by row. */
export interface Outcome {
  stato: State
  /** Why nothing was sent, where that is so. */
  causa?: Verdict['causa'] | 'INVII_SOSPESI' | 'SERVIZIO_OCCUPATO'
  errore?: string
  schedine: (RowVerdict & { indice: number })[]
}

type Refusal = Pick<Outcome, 'causa' | 'errore'>

/**
 * Carries a submission that is `pronto` through to its outcome: claim, login, rehearsal, connection, commit, Send. Safe
 * to call for any submission, from any process, any number of times: whoever does not get the claim only reports.
 * @param waiting somebody waits for the answer: then what cannot be sent is given back at once, else it is tried again
 * later
 */
export async function carryOut (context: LedgerContext, id: number, waiting: boolean): Promise<Outcome> {
  const claim = `${context.name}/${randomUUID()}`
  const refusal =
    (await take(context, id, claim, waiting)) ??
    (await send(context, id, claim, waiting).catch((err: unknown) => {
      context.log.error({ err, invio: id }, 'a submission could not be carried out')
      // Before the dispatch this frees it; after it, it changes nothing: the sweep finds what is left.
      return giveUp(context, id, claim, waiting, { errore: 'errore interno' })
    }))
  return { ...await outcomeOf(context, id), ...refusal }
}

async function take (context: LedgerContext, id: number, claim: string, waiting: boolean): Promise<Refusal | undefined> {
  const { db, name, clock, head } = context
  const until = performance.now() + QUEUE_MS
  for (;;) {
    if (await holdOrStop(db, head)) return withdraw(context, id, waiting, 'INVII_SOSPESI')
    try {
      const taken = await db.transaction(async (tx) => {
        const [unit] = await tx
          .select({ data_arrivo: invii.data_arrivo, stato: invii.stato })
          .from(invii)
          .where(eq(invii.id, id))
          .for('update')
        if (unit?.stato !== 'pronto') return false
        if (!arrivalWindowOpen(unit.data_arrivo, clock.today())) {
          await move(tx, id, {
            da: 'pronto',
            a: 'da_verificare',
            chi: name,
            perche: 'la finestra di arrivo si è chiusa'
          })
          return false
        }
        const set = { proprietario: claim, lease_fino_al: LEASE }
        return move(tx, id, { da: 'pronto', a: 'preso', chi: name, perche: 'preso in carico', set })
      })
      if (taken) reached('claimed', id)
      return taken ? undefined : {}
    } catch (err) {
      // Another submission of the account is in flight.
      if (postgresError(err)?.constraint_name !== 'invii_un_volo') throw err
    }
    if (!waiting) return {}
    if (performance.now() > until) return withdraw(context, id, waiting, 'SERVIZIO_OCCUPATO')
    await sleep(QUEUE_STEP_MS)
  }
}

async function withdraw (
  { db, name }: LedgerContext,
  id: number,
  waiting: boolean,
  causa: NonNullable<Refusal['causa']>
): Promise<Refusal> {
  if (waiting) {
    await db.transaction(async (tx) => {
      if (await move(tx, id, { da: 'pronto', a: 'non_inviato', chi: name, perche: causa })) {
        await moveRows(tx, id, 'non_inviata', 'in_corso')
      }
    })
  }
  return { causa }
}

async function send (context: LedgerContext, id: number, claim: string, waiting: boolean): Promise<Refusal | undefined> {
  const { db, keys, service } = context
  const [unit] = await db
    .select({ id_appartamento: invii.id_appartamento, tentativo: invii.tentativo })
    .from(invii)
    .where(eq(invii.id, id))
  const rows = await rowsOf(db, keys, id, 'in_corso')
  const giveBack = (verdict: Verdict) => giveUp(context, id, claim, waiting, verdict)

  let token: string
  try {
    token = await service.token.get()
  } catch (err) {
    return giveBack(classifyLogin(err, rows.length))
  }
  if (!(await renew(db, id, claim))) return undefined
  reached('logged-in', id)

  const apartment = unit!.id_appartamento ?? undefined
  const rehearsal = await call(
    context,
    token,
    () => deliver(service, methodFor(true, apartment), token, lines(rows)),
    rows.length
  )
  // A rehearsal registers nothing: without a usable answer nothing is in doubt, and nothing is sent.
  if (rehearsal.stato === 'sconosciuto' || rehearsal.stato === 'non_inviato') {
    return giveBack({ ...rehearsal, causa: rehearsal.causa ?? 'SERVIZIO_NON_RAGGIUNGIBILE' })
  }
  const good = await holdBack(context, id, claim, rows, rehearsal)
  if (good.length === 0 || !(await renew(db, id, claim))) return undefined
  reached('rehearsed', id)

  const attempt = { id, numero: unit!.tentativo + 1, rows: good }
  let dispatched = false
  const beforeWrite = async () => {
    reached('connected', id)
    await dispatch(context, id, claim, good).catch((err: unknown) => {
      context.log.error({ err, invio: id }, 'a dispatch failed: nothing is sent')
      throw err
    })
    dispatched = true
    reached('dispatched', id)
  }
  const verdict = await call(
    context,
    token,
    () => deliver(service, methodFor(false, apartment), token, lines(good), { beforeWrite }),
    good.length
  )
  reached('replied', id)
  if (!dispatched && !(await wasDispatched(context, attempt, claim))) return giveBack(verdict)
  await settle(context, attempt, verdict, !waiting)
  reached('settled', id)
  return { causa: verdict.causa, errore: verdict.errore }
}

/** One call and what it proves. */
async function call (
  { service }: LedgerContext,
  token: string,
  work: () => ReturnType<typeof deliver>,
  rows: number
): Promise<Verdict> {
  try {
    const reply = await work()
    // Whatever the refusal was about, the next call begins with a fresh login.
    if (!reply.esito.esito) service.token.invalidate(token)
    return classifyReply(reply, rows)
  } catch (err) {
    return classifyFailure(err, rows)
  }
}

/**
 * Whether the commit of an attempt went through although dispatching failed: then its outcome must be written. By the
 * claim: an attempt of the same number may be another worker's, whose Send is still out.
 */
async function wasDispatched (
  { db }: LedgerContext,
  { id, numero }: { id: number; numero: number },
  claim: string
): Promise<boolean> {
  const [unit] = await db
    .select({ tentativo: invii.tentativo, stato: invii.stato, claim: invii.proprietario })
    .from(invii)
    .where(eq(invii.id, id))
  return unit?.tentativo === numero && unit.stato === 'in_invio' && unit.claim === claim
}

/**
 * Keeps back what the rehearsal refused, and with it the rest of the same family or group: a member cannot be filed
 * without its head, nor later alone. A submission that was sent before and may have been acquired is not taken apart:
 * it goes back to a person.
 * @returns the rows to send; none when the whole list is refused, which settles the submission, or when it is another
 * worker's by now
 */
async function holdBack (
  { db, name }: LedgerContext,
  id: number,
  claim: string,
  rows: readonly Row[],
  rehearsal: Verdict
): Promise<Row[]> {
  const refused = new Set(rows.filter((_, at) => rehearsal.schedine[at]?.esito === 'rifiutata').map(({ capo }) => capo))
  if (refused.size === 0) return [...rows]
  const good = rows.filter(({ capo }) => !refused.has(capo))
  const mine = await db.transaction(async (tx) => {
    // First of all: a row that is let go while another worker has it in flight could be sent twice.
    const doubt = await inDoubt(tx, id)
    const perche = 'la prova ha respinto le schedine'
    const mine =
      good.length > 0 && !doubt
        ? await renew(tx, id, claim)
        : await move(tx, id, { da: 'preso', a: doubt ? 'da_verificare' : 'rifiutato', chi: name, perche, claim })
    if (!mine || doubt) return false
    for (const [at, { indice, capo }] of rows.entries()) {
      if (!refused.has(capo)) continue
      const own = rehearsal.schedine[at]!
      const row =
        own.esito === 'rifiutata'
          ? own
          : {
              esito: 'rifiutata' as const,
              dettaglio: "Non inviata: un'altra schedina della stessa famiglia o gruppo è stata rifiutata"
            }
      await tx
        .update(schedine)
        .set(row)
        .where(and(eq(schedine.invio_id, id), eq(schedine.indice, indice)))
    }
    return true
  })
  return mine ? good : []
}

/** The worker lives: each step has the whole lease. False when the submission is another's by now. */
async function renew (db: Executor, id: number, claim: string): Promise<boolean> {
  const renewed = await db.update(invii).set({ lease_fino_al: LEASE })
    .where(and(eq(invii.id, id), eq(invii.stato, 'preso'), eq(invii.proprietario, claim))).returning({ id: invii.id })
  return renewed.length > 0
}

/** Nothing was sent. Whoever waits is told, and the guests are free; what nobody waits for is tried again. */
async function giveUp (
  { db, name }: LedgerContext,
  id: number,
  claim: string,
  waiting: boolean,
  { causa, errore }: Refusal
): Promise<Refusal> {
  await db.transaction(async (tx) => {
    const perche = errore ?? causa ?? 'non inviato'
    if (!waiting) {
      await move(tx, id, {
        da: 'preso',
        a: 'pronto',
        chi: name,
        perche,
        claim,
        set: { proprietario: null, lease_fino_al: RETRY }
      })
    } else if (await inDoubt(tx, id)) {
      await move(tx, id, { da: 'preso', a: 'da_verificare', chi: name, perche, claim })
    } else if (await move(tx, id, { da: 'preso', a: 'non_inviato', chi: name, perche, claim })) {
      await moveRows(tx, id, 'non_inviata', 'in_corso')
    }
  })
  return { causa, errore }
}

async function outcomeOf ({ db }: LedgerContext, id: number): Promise<Outcome> {
  const [unit] = await db.select({ stato: invii.stato }).from(invii).where(eq(invii.id, id))
  const rows = await db.select().from(schedine).where(eq(schedine.invio_id, id)).orderBy(asc(schedine.indice))
  return {
    stato: unit!.stato as State,
    schedine: rows.map(({ indice, esito, codice_errore, messaggio_soap, dettaglio }) => ({
      indice,
      esito: esito as RowVerdict['esito'],
      codice_errore: codice_errore ?? '',
      messaggio_soap: messaggio_soap ?? '',
      dettaglio: dettaglio ?? ''
    }))
  }
}

function lines (rows: readonly Row[]): string[] {
  return rows.map(({ line }) => line)
}
