import { and, asc, count, eq, inArray, type SQL } from 'drizzle-orm'
import {
  invii,
  invii_decisioni as decisions,
  invii_esiti as outcomes,
  invii_schedine as schedine
} from '#drizzle/tables/alloggiati.ts'
import type { DecisionBody } from '#schemas/invio.ts'
import { counted } from '#src/lib/counted.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import type { Audit, Author } from '#src/plugins/audit/log.ts'
import type { Database, Transaction } from '#src/plugins/database/connect.ts'
import type { Clock } from '#src/lib/time.ts'
import { DecisioneNonPossibile, InvioCambiato, InvioNonTrovato, NullaDaDecidere } from '../errors.ts'
import { attemptsOf } from './history.ts'
import { move, moveRows } from './moves.ts'
import { obstacle, type Case } from './obstacles.ts'
import { TRANSITIONS } from './transitions.ts'
import type { State } from '#schemas/submission.ts'

const TARGETS: Readonly<Record<DecisionBody['decisione'], State>> = {
  reinvia: 'pronto', acquisito: 'acquisito', depositato: 'depositato_altrove', annulla: 'annullato'
}

export interface Court {
  db: Database
  audit: Audit
  clock: Clock
  /** Which submissions can be decided on. */
  scope: SQL
  /** The account that would send again. */
  account: string | undefined
}

/**
 * Writes down what a person decides of a submission that no rule could settle, and then moves it, in one transaction.
 * Of two people at once one decides; the other one's version is not the present one any more.
 * @throws InvioNonTrovato, InvioCambiato, NullaDaDecidere, DecisioneNonPossibile, CampiNonValidi,
 * RegistroNonDisponibile
 */
export async function decide (
  { db, audit, clock, scope, account }: Court,
  id: number,
  body: DecisionBody,
  author: Author
): Promise<void> {
  const { decisione, motivo, protocollo } = body
  const { actor: chi } = author
  if (decisione === 'depositato' && protocollo === undefined) {
    throw new CampiNonValidi({ campo: 'protocollo', messaggio: 'è obbligatorio per depositato' })
  }
  await db.transaction(async (tx) => {
    const [unit] = await tx
      .select()
      .from(invii)
      .where(and(scope, eq(invii.id, id)))
      .for('update')
    if (!unit) throw new InvioNonTrovato()
    const { stato, data_arrivo } = unit
    if (unit.versione !== body.versione) throw new InvioCambiato(String(unit.versione), stato)
    if (stato !== 'sconosciuto' && stato !== 'da_verificare') throw new NullaDaDecidere(stato)
    await confirm(tx, id, data_arrivo, body.conferma)
    const facts = await factsOf(tx, id)
    const reason = obstacle(decisione, facts, {
      data_arrivo,
      today: clock.today(),
      ownAccount: unit.utente === account
    })
    if (reason !== undefined) throw new DecisioneNonPossibile(reason)

    let { versione } = unit
    if (stato === 'sconosciuto') {
      await move(tx, id, { da: stato, a: 'da_verificare', chi, perche: 'una persona lo prende in esame' })
      versione++
    }
    await tx.insert(decisions).values({ invio_id: id, versione, decisione, chi, motivo, protocollo })
    await carryOver(tx, id, decisione, facts)
    const a = TARGETS[decisione]
    const why = TRANSITIONS.find((each) => each.da === 'da_verificare' && each.a === a)!.perche
    // The chain holds the reason as well: a decision cannot be reworded later.
    await move(tx, id, { da: 'da_verificare', a, chi, perche: `${why}: ${motivo}` })
    await audit.append(tx, { ...author, action: 'decisione', object: `invio:${id}`, details: { decisione } })
  })
}

/** The phrase that a person types is about this very submission: how many guests, and which arrival. */
async function confirm (tx: Transaction, id: number, data_arrivo: string, typed: string): Promise<void> {
  const guests = await tx.$count(schedine, eq(schedine.invio_id, id))
  const expected = `${counted(guests, 'ospite', 'ospiti')} ${data_arrivo}`
  if (typed.trim().replace(/\s+/g, ' ').toLowerCase() !== expected) {
    throw new CampiNonValidi({ campo: 'conferma', messaggio: `deve essere «${expected}»` })
  }
}

async function factsOf (tx: Transaction, id: number): Promise<Case> {
  const attempts = await attemptsOf(tx, id)
  const byWord = attempts.some(({ osservazioni }) =>
    osservazioni.some(({ esito, fonte }) => esito === 'K' && fonte === 'decisione')
  )
  const proven = attempts.some(({ osservazioni }) =>
    osservazioni.some(({ esito, fonte }) => esito === 'K' && fonte !== 'decisione')
  )
  // What is acquired on somebody's word alone can be decided on again.
  const doubtful =
    byWord && !proven ? (['in_corso', 'sconosciuta', 'acquisita'] as const) : (['in_corso', 'sconosciuta'] as const)
  const [found] = await tx
    .select({ open: count() })
    .from(schedine)
    .where(and(eq(schedine.invio_id, id), inArray(schedine.esito, [...doubtful])))
  return { attempts, byWord, proven, doubtful, open: found!.open }
}

/** What a decision makes of the rows in doubt, and what it says of the attempts. */
async function carryOver (
  tx: Transaction,
  id: number,
  decisione: DecisionBody['decisione'],
  { attempts, byWord, proven, doubtful }: Case
): Promise<void> {
  if (decisione === 'acquisito' && !proven && !byWord) {
    await writeAcquired(tx, id, attempts.findLast(({ esito }) => esito !== 'N')!.numero)
  }
  // Cancelled is not the same as free: only guests that certainly were not acquired can be entered again.
  const cancelled = attempts.every(({ esito }) => esito === 'N') ? 'annullata' : 'sconosciuta'
  const outcome = { reinvia: 'in_corso', acquisito: 'acquisita', depositato: 'depositata', annulla: cancelled } as const
  for (const esito of doubtful) await moveRows(tx, id, outcome[decisione], esito)
}

async function writeAcquired (tx: Transaction, id: number, numero: number): Promise<void> {
  const rows = await tx
    .select({ permanenza: schedine.permanenza })
    .from(schedine)
    .where(and(eq(schedine.invio_id, id), inArray(schedine.esito, ['in_corso', 'sconosciuta'])))
    .orderBy(asc(schedine.indice))
  const notti = rows.reduce((sum, { permanenza }) => sum + permanenza, 0)
  await tx
    .insert(outcomes)
    .values({ invio_id: id, numero, esito: 'K', fonte: 'decisione', schedine: rows.length, notti })
}
