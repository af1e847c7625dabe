import { sql } from 'drizzle-orm'
import { invii_conferme as confirmations } from '#drizzle/tables/decisions.ts'
import { invii, invii_numerazione, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import { lockForShare, PrenotazioneNonTrovata, savedGuests, type LockedBooking } from '#src/bookings/index.ts'
import type { AuditEntry } from '#src/services/audit/log.ts'
import type { Transaction } from '#src/database/connect.ts'
import { filingDeadline } from '../deadlines.ts'
import type { Day } from '#src/lib/time.ts'
import type { RecordSchedina } from '../codec/layout.ts'
import { PrenotazioneCambiata, requireConfirmed } from '../sent-errors.ts'
import { findConflicts, findElsewhere, findExcess, findMoved, type Addition } from './conflicts.ts'
import type { LedgerBase } from './ledger-context.ts'
import { confirmedElsewhere, confirmedOf, referencesOf, type Confirmed } from './obstacles.ts'
import { findOverlaps } from './overlaps.ts'
import { fingerprint, guestAt, type Guest } from './fingerprints.ts'
import { ACCEPTED, attribute, LEASE, lockChain } from './moves.ts'
import { bookingsElsewhere } from './police-account.ts'
import { sealLine } from './submission-rows.ts'
import { readRetryTimes } from './read-ledger.ts'

export interface Submission {
  account: string
  operatore: string
  ip: string
  metodo: string
  /** The guests' records, all with the same arrival. */
  records: readonly RecordSchedina[]
  lines: readonly string[]
  /** For each row, the index of the leader of its family or group. */
  leaders: readonly number[]
  /** For each row, the index of its guest in the caller's list. Missing if it equals the index of the row. */
  indices?: readonly number[]
  id_appartamento: number | undefined
  /** The booking of all rows. Null if there are several bookings, or none. */
  prenotazione_id: number | null
  /** The booking of each row, if the rows belong to several bookings. */
  bookings?: readonly number[]
  /** For rows of saved guests: the version of each booking when the guests were read. */
  versions?: ReadonlyMap<number, number>
  /** A person's confirmation that these are not the guests sent before, or that the excess of guests is right. */
  confirmation?: { motivo: string }
  /** Stores the reference with the Idempotency-Key, in the transaction that inserts the submission. */
  recordReference?: (tx: Transaction, ricevuta: string) => Promise<void>
}

export interface Reserved { id: number, ricevuta: string }

export type ReserveContext = Pick<LedgerBase, 'db' | 'keys' | 'clock' | 'mode' | 'audit' | 'beforeReady' | 'accountOf'>

/**
 * Inserts a submission. From then on its guests are live, so no other submission can include them without confirmation.
 * @throws SchedineGiaInviate when a guest was or may have been filed, or is listed twice. SchedineInCorso when the
 * earlier submissions are in progress. A confirmation lifts both errors, unless a guest is certainly the same.
 * @throws OspitiOltreLaPrenotazione when guests exceed their booking. A confirmation lifts this error.
 * @throws SchedineInCorso when guests exceed their booking and one of its submissions is in progress, even if confirmed
 * @throws PrenotazioneCambiata when a booking changed since its guests were read, or belongs to another account
 * @throws InviataConAltroAccount when guests of a booking were sent with another account. A confirmation lifts it.
 * @throws PrenotazioneNonTrovata when a booking was deleted. PrenotazioneNonConfermata when one is not confirmed.
 * @throws RegistroNonDisponibile, and errors of `beforeReady` hooks
 */
export function reserve (context: ReserveContext, submission: Submission): Promise<Reserved> {
  return context.db.transaction((tx) => reserveIn(tx, context, submission))
}

/** Does the same as `reserve`, in the caller's transaction. */
export async function reserveIn (tx: Transaction, context: ReserveContext, submission: Submission): Promise<Reserved> {
  const { keys, clock, mode, audit, beforeReady } = context
  const { account, records } = submission
  for (const hook of beforeReady) await hook(tx)
  const bookings = bookingsOf(submission)
  const ids = [...new Set(bookings.flatMap((id) => id ?? []))]
  const locked = await lockForShare(tx, ids)
  refuseChanged(submission, locked)
  // If a booking was deleted meanwhile, its guests must not be sent.
  if (locked.size < ids.length) throw new PrenotazioneNonTrovata()
  for (const [id, { stato }] of locked) requireConfirmed({ id, stato })
  // A booking may have moved to another account meanwhile.
  const moved = await bookingsElsewhere(context, tx, account, ids)
  if (moved.length > 0) throw new PrenotazioneCambiata(moved)
  // Always lock the counter before the chain, because different orders could deadlock.
  const ricevuta = await nextReference(tx, clock.today())
  await lockChain(tx)
  const guests = records.map((record, at) => ({ ...record, prenotazione_id: bookings[at]! }))
  const { data_arrivo } = records[0]!
  const saved = await savedGuestsOf(tx, [...locked.keys()], data_arrivo)
  const conflicts = [
    ...await findConflicts(tx, keys, mode, records),
    ...await findMoved(tx, keys, { account, mode }, guests, { stays: locked, saved }),
    ...await findOverlaps(tx, keys, mode, guests)
  ]
  const additions = additionsOf(guests, locked, submission.versions && saved)
  const excess = await findExcess(tx, keys, mode, data_arrivo, additions)
  const elsewhere = await findElsewhere(tx, { account, mode }, data_arrivo, additions)
  const obstacles = { conflicts, excess }
  const confirmed = confirmedOf(submission, obstacles, await readRetryTimes(tx, referencesOf(obstacles))) ??
    confirmedElsewhere(submission, elsewhere)
  const id = await insertSubmission(tx, submission, ricevuta, ACCEPTED[confirmed ? 'confirmed' : 'unconfirmed'])
  if (confirmed !== undefined) {
    const { operatore: chi, confirmation } = submission
    await tx.insert(confirmations)
      .values({ invio_id: id, chi, motivo: confirmation!.motivo, precedenti: confirmed.references })
  }
  await insertRows(tx, context, submission, id, confirmed?.rows ?? new Set())
  await submission.recordReference?.(tx, ricevuta)
  await audit.append(tx, auditEntry(submission, { id, ricevuta }, confirmed))
  return { id, ricevuta }
}

/** Refuses bookings that changed since they were read. The caller has locked them, so they cannot change any more. */
function refuseChanged ({ versions = new Map() }: Submission, bookings: ReadonlyMap<number, LockedBooking>): void {
  const changed = [...versions].filter(([id, versione]) => bookings.get(id)?.versione !== versione)
  if (changed.length > 0) throw new PrenotazioneCambiata(changed.map(([id]) => id))
}

function bookingsOf ({ bookings, prenotazione_id, records }: Submission): readonly (number | null)[] {
  return bookings ?? records.map(() => prenotazione_id)
}

function additionsOf (
  guests: readonly { prenotazione_id: number | null, permanenza: number }[],
  locked: ReadonlyMap<number, LockedBooking>,
  saved: ReadonlyMap<number, readonly Guest[]> | undefined
): Addition[] {
  return [...locked].map(([prenotazione_id, { numero_ospiti, ...stay }]) => ({
    prenotazione_id,
    numero_ospiti,
    stay,
    nights: guests.flatMap((guest) => guest.prenotazione_id === prenotazione_id ? guest.permanenza : []),
    saved: saved?.get(prenotazione_id)
  }))
}

async function savedGuestsOf (tx: Transaction, ids: readonly number[], arrival: Day): Promise<Map<number, Guest[]>> {
  const saved = await savedGuests(tx, ids)
  return new Map([...saved].map(([id, guests]) => [id, guests.map((guest) => guestAt(arrival, guest))]))
}

/** Omits the person's reason, because it may name a guest. */
function auditEntry (
  { operatore, ip, lines, prenotazione_id, bookings }: Submission,
  { id, ricevuta }: Reserved,
  confirmed: Confirmed | undefined
): AuditEntry {
  return {
    actor: operatore,
    ip,
    action: 'invio',
    object: `invio:${ricevuta}`,
    details: {
      id,
      schedine: lines.length,
      prenotazione_id,
      ...(bookings === undefined ? {} : { prenotazioni: [...new Set(bookings.map(String))] }),
      ...(confirmed === undefined ? {} : { confermato: true, precedenti: confirmed.references })
    }
  }
}

async function insertSubmission (
  tx: Transaction, submission: Submission, ricevuta: string, perche: string
): Promise<number> {
  const { account, operatore, metodo, records, id_appartamento, prenotazione_id } = submission
  const { data_arrivo } = records[0]!
  // The shortest stay, because it has the earliest deadline.
  const permanenza = Math.min(...records.map(({ permanenza }) => permanenza))
  await attribute(tx, operatore, perche)
  const [created] = await tx
    .insert(invii)
    .values({
      ricevuta,
      utente: account,
      operatore,
      metodo,
      id_appartamento,
      prenotazione_id,
      data_arrivo,
      permanenza,
      scadenza: filingDeadline(data_arrivo, permanenza).toISOString(),
      stato: 'pronto',
      // Not `now()`: the transaction may have waited for a booking that was being changed.
      creato_il: sql`clock_timestamp()`,
      lease_fino_al: LEASE
    })
    .returning({ id: invii.id })
  return created!.id
}

async function insertRows (
  tx: Transaction, { keys }: ReserveContext, submission: Submission, id: number, confirmed: ReadonlySet<number>
): Promise<void> {
  const { account, records, lines, leaders, indices } = submission
  const bookings = bookingsOf(submission)
  const indexOf = (at: number) => indices?.[at] ?? at
  await tx.insert(schedine).values(records.map((record, at) => {
    const indice = indexOf(at)
    const { identita, persona, documento } = fingerprint(keys, account, record)
    return {
      invio_id: id,
      indice,
      capo: indexOf(leaders[at]!),
      utente: account,
      prenotazione_id: bookings[at]!,
      riga: sealLine(keys, id, indice, lines[at]!),
      permanenza: record.permanenza,
      impronta_identita: identita,
      impronta_persona: persona,
      impronta_documento: documento,
      confermata: confirmed.has(at),
      esito: 'in_corso' as const
    }
  }))
}

async function nextReference (tx: Transaction, today: Day): Promise<string> {
  const [counter] = await tx.insert(invii_numerazione).values({ giorno: today, ultimo: 1 })
    .onConflictDoUpdate({ target: invii_numerazione.giorno, set: { ultimo: sql`${invii_numerazione.ultimo} + 1` } })
    .returning({ n: invii_numerazione.ultimo })
  return `AW-${today.replaceAll('-', '')}-${counter!.n}`
}
