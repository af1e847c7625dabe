import type { SchedinaIntera } from '#schemas/from-booking.ts'
import { LEADERS, SINGLE_GUEST } from '#schemas/guest-types.ts'
import type { Segnalazione } from '#schemas/schedina.ts'
import { UNDER_WAY_STATES } from '#schemas/submission.ts'
import { NullaDaInviare, SchedineInCorso } from '../sent-errors.ts'
import { findConflicts } from '../ledger/conflicts.ts'
import type { LedgerContext } from '../ledger/context.ts'
import { guestAt } from '../ledger/fingerprints.ts'
import { readWaiting } from '../ledger/waiting.ts'
import { groupsOf } from '../rules/groups.ts'
import type { BookingSchedine } from './from-booking.ts'

/** What is left of a booking. */
export interface Missing {
  schedine: SchedinaIntera[]
  /** For each its index in the booking's list. */
  places: number[]
  avvisi: Segnalazione[]
}

/**
 * The guests of a booking of whom no row is live. A guest whose leader or members are with the police already goes
 * alone, with the document that is stored.
 * @throws NullaDaInviare when no guest is left, SchedineInCorso while one of them is being sent
 */
export async function findMissing (
  { db, keys, service }: Pick<LedgerContext, 'db' | 'keys' | 'service'>,
  { schedine, documents, numero_ospiti, soggiorno: { check_in } }: BookingSchedine
): Promise<Missing> {
  const guests = documents.map((guest) => guestAt(check_in, guest))
  const conflicts = guests.length === 0 ? [] : await findConflicts(db, keys, service.account, guests)
  // The same document alone does not make another name the same guest: that is for a person to confirm.
  const earlier = conflicts.flatMap(({ told: { ospite, ricevuta, motivo } }) =>
    ricevuta === null || motivo !== 'stessa_persona' ? [] : { ospite, ricevuta })
  const sent = new Set(earlier.map(({ ospite }) => ospite))
  if (sent.size > 0 && sent.size === guests.length) {
    for (const { told: { ricevuta, stato } } of conflicts) {
      const isOut = UNDER_WAY_STATES.some((each) => each === stato)
      if (isOut && ricevuta !== null && stato !== null) {
        const waiting = await readWaiting(db, [ricevuta])
        throw new SchedineInCorso(ricevuta, stato, { waitsUntil: waiting.get(ricevuta) })
      }
    }
    const unsaved = Math.max(0, numero_ospiti - documents.length)
    throw new NullaDaInviare([...new Set(earlier.map(({ ricevuta }) => ricevuta))], unsaved)
  }
  const groups = groupsOf(schedine.map(({ tipo_alloggiato }) => tipo_alloggiato))
  return joined(groups.map((group) => leftOf(group, sent, { schedine, documents })))
}

type Guests = Pick<BookingSchedine, 'schedine' | 'documents'>

function leftOf (group: readonly number[], sent: ReadonlySet<number>, { schedine, documents }: Guests): Missing {
  const places = group.filter((ospite) => !sent.has(ospite))
  const leader = group[0]!
  const leads = LEADERS.includes(schedine[leader]!.tipo_alloggiato) && !sent.has(leader) && places.length > 1
  if (leads || places.length === group.length) {
    return { places, schedine: places.map((ospite) => schedine[ospite]!), avvisi: [] }
  }
  const why = sent.has(leader) ? 'il capo è già stato inviato' : 'i familiari o membri sono già stati inviati'
  return {
    places,
    schedine: places.map((ospite) => ({ ...documents[ospite]!, tipo_alloggiato: SINGLE_GUEST })),
    avvisi: places.map((ospite) => ({
      ospite,
      campo: 'tipo_alloggiato',
      messaggio: `Comunicato come ospite singolo (${SINGLE_GUEST}): ${why}`
    }))
  }
}

function joined (parts: readonly Missing[]): Missing {
  return {
    places: parts.flatMap(({ places }) => places),
    schedine: parts.flatMap(({ schedine }) => schedine),
    avvisi: parts.flatMap(({ avvisi }) => avvisi)
  }
}
