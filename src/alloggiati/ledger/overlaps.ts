import { and, eq, gt, inArray, lt, ne, or } from 'drizzle-orm'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import { LIVE_ROW_OUTCOMES } from '#schemas/submission.ts'
import type { Segnalazione } from '#schemas/schedina.ts'
import { staysById } from '#src/bookings/index.ts'
import { isOneOfBytes } from '#src/database/columns.ts'
import type { Executor } from '#src/database/connect.ts'
import { dayWithArticle } from '#src/lib/day-with-article.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { addDays } from '#src/lib/time.ts'
import { MAX_DECLARED_NIGHTS } from '../codec/layout.ts'
import type { Conflict } from './conflicts.ts'
import { fingerprint, type Guest } from './fingerprints.ts'
import type { WatchContext } from './ledger-context.ts'
import { scopeOf } from './read-ledger.ts'
import { departureOf, endOf } from './stay-nights.ts'

/** A guest of a list, with the nights to declare. */
interface Declared extends Guest { prenotazione_id: number | null, permanenza: number }

/**
 * Finds guests without a booking who were sent with another arrival for overlapping nights, with any account.
 * `findMoved` compares the guests of bookings.
 */
export async function findOverlaps (
  db: Executor, keys: Keys, mode: WatchContext['mode'], guests: readonly Declared[]
): Promise<Conflict[]> {
  const direct = guests.map((guest, ospite) => ({ guest, ospite })).filter(({ guest }) =>
    guest.prenotazione_id === null)
  return overlapsOf(db, keys, mode, direct)
}

/**
 * Warns about guests of a booking who were sent with another arrival for another confirmed booking, if the stays have
 * nights in common. Both bookings may be right, because a guest can change rooms. So a Send needs no confirmation.
 */
export async function overlapRemarks (
  { db, keys, mode }: Pick<WatchContext, 'keys' | 'mode'> & { db: Executor },
  id: number,
  records: readonly Omit<Declared, 'prenotazione_id'>[]
): Promise<Segnalazione[]> {
  const guests = records.map((record, ospite) => ({ guest: { ...record, prenotazione_id: id }, ospite }))
  const conflicts = (await overlapsOf(db, keys, mode, guests)).flatMap(({ duplicate: { ospite }, earlier }) =>
    earlier?.prenotazione_id == null ? [] : { ospite, other: earlier.prenotazione_id })
  // A guest may have several rows of the other booking.
  const found = [...new Map(conflicts.map((each) => [`${each.ospite} ${each.other}`, each])).values()]
  const stays = new Map((await staysById(db, [id, ...found.map(({ other }) => other)])).map((stay) => [stay.id, stay]))
  const own = stays.get(id)
  return found.flatMap(({ ospite, other }) => {
    const stay = stays.get(other)
    if (own === undefined || stay === undefined || other === id || stay.stato !== 'confermata') return []
    const isCommon = stay.check_in < departureOf(own) && own.check_in < departureOf(stay)
    const messaggio = `È già stato inviato per la prenotazione ${other}, ${dayWithArticle('dal', stay.check_in)} ` +
      `${dayWithArticle('al', departureOf(stay))}: se il soggiorno è lo stesso, annullare una delle due prenotazioni`
    return isCommon ? { ospite, campo: 'check_in', messaggio } : []
  })
}

/** A guest, and the index of the guest in the list. */
interface Listed { guest: Declared, ospite: number }

/** Finds live rows of the same guests with another arrival and common nights. Fingerprints include that arrival. */
async function overlapsOf (
  db: Executor, keys: Keys, mode: WatchContext['mode'], listed: readonly Listed[]
): Promise<Conflict[]> {
  if (listed.length === 0) return []
  const { data_arrivo } = listed[0]!.guest
  const isNear = and(
    scopeOf(mode),
    ne(invii.data_arrivo, data_arrivo),
    gt(invii.data_arrivo, addDays(data_arrivo, -MAX_DECLARED_NIGHTS)),
    lt(invii.data_arrivo, addDays(data_arrivo, Math.max(...listed.map(({ guest }) => guest.permanenza))))
  )
  const arrivals = await db.selectDistinct({ day: invii.data_arrivo, account: invii.utente }).from(invii).where(isNear)
  const prints = listed.flatMap(({ guest, ospite }) => arrivals.map(({ day, account }) =>
    ({ ospite, guest, day, ...fingerprint(keys, account, { ...guest, data_arrivo: day }) })))
  if (prints.length === 0) return []
  const { ricevuta, stato } = invii
  const { esito, prenotazione_id, permanenza, impronta_persona: persona, impronta_documento: documento } = schedine
  const rows = await db
    .select({ ricevuta, stato, esito, prenotazione_id, permanenza, persona, documento, data_arrivo: invii.data_arrivo })
    .from(schedine)
    .innerJoin(invii, eq(invii.id, schedine.invio_id))
    .where(and(isNear, inArray(esito, LIVE_ROW_OUTCOMES), or(
      isOneOfBytes(persona, prints.map((each) => each.persona.toString('hex'))),
      isOneOfBytes(documento, prints.flatMap((each) => each.documento?.toString('hex') ?? []))
    )))
    .orderBy(invii.id, schedine.indice)
  return prints.flatMap(({ ospite, guest, day, persona, documento }) => rows.flatMap((row): Conflict[] => {
    const isOverlap = row.data_arrivo === day && data_arrivo < endOf(row) && day < endOf(guest)
    const samePerson = row.persona.equals(persona)
    if (!isOverlap || !(samePerson || (documento !== null && row.documento?.equals(documento)))) return []
    const motivo = samePerson ? 'stessa_persona' : 'stesso_documento'
    const duplicate = { ospite, ricevuta: row.ricevuta, stato: row.stato, motivo } as const
    return [{ duplicate, earlier: row, certain: false, movedFrom: day }]
  }))
}
