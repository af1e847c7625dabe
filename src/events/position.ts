import { CampiNonValidi } from '#src/lib/errors.ts'

/** An event up to which a reader has read: its place, and the beginning of its id. */
export interface Position { posizione: number, mark: string }

/** Up to where events were read: a place, and the cursor that names it. */
export interface Reached { place: number, cursor: string }

/** Before the first event. */
export const BEGINNING: Reached = { place: 0, cursor: '0-00000000' }

const CURSOR = /^([1-9]\d{0,9})-([\da-f]{8})$/
const LAST = 2_147_483_647

/**
 * The cursor of an event. The id tells whether the event in that place is still the same: after a restore of the
 * database places are given a second time.
 */
export function cursorOf ({ posizione, id }: { posizione: number, id: string }): string {
  return `${posizione}-${id.slice(0, 8)}`
}

/** @throws CampiNonValidi naming `campo` when the text is no cursor of ours */
export function readCursor (campo: string, text: string): Position {
  if (text === BEGINNING.cursor) return { posizione: BEGINNING.place, mark: '00000000' }
  const [, place, mark] = CURSOR.exec(text) ?? []
  const posizione = Number(place)
  if (mark === undefined || posizione > LAST) {
    throw new CampiNonValidi({ campo, messaggio: 'non è il cursore di un evento' })
  }
  return { posizione, mark }
}
