import { hash } from 'node:crypto'
import type { SavedGuest } from '#src/bookings/index.ts'

/** The guest of a link, without a name. */
export interface LinkGuest {
  /** The place in the booking. */
  guest: number
  /** The number of guests that were saved when the link was made. */
  saved: number
  /** Changes when another guest takes the place. */
  mark: string
}

/** The guest of a place. An unsaved guest is identified by the saved guests, who come before. */
export function linkGuest (guests: readonly SavedGuest[], guest: number, saved = guests.length): LinkGuest {
  const known = guest < saved ? guests.slice(guest, guest + 1) : guests.slice(0, saved)
  const people = known.map(({ cognome, nome, data_nascita: birth }) => [cognome, nome, birth])
  return { guest, saved, mark: hash('sha256', JSON.stringify(people), 'base64url').slice(0, 16) }
}

/** Whether the place still belongs to the guest for whom the link was made. */
export function hasSameGuest ({ guest, saved, mark }: LinkGuest, guests: readonly SavedGuest[]): boolean {
  const isTaken = guest >= saved && guests.length > guest
  return !isTaken && linkGuest(guests, guest, saved).mark === mark
}
