import type { Bucket } from '#schemas/storage.ts'
import type { Executor } from '#src/database/connect.ts'
import type { Storage, StoredObject } from '#src/services/files/storage.ts'
import type { StoredLetter } from './repository.ts'

export const LETTERS: Bucket = 'letters'

type Named = Pick<StoredLetter, 'prenotazione_id' | 'pdf'>

/** The name of a letter's file; every letter has another one, so that a new letter is never taken for an old one. */
export function nameOf ({ prenotazione_id: booking, pdf }: Named): string {
  return `${booking}/${pdf}.pdf`
}

/** The booking of a letter's file. */
export function bookingOf (name: string): string {
  return name.split('/', 1)[0]!
}

/** Undefined where the letter was deleted meanwhile. */
export function fileOf (
  storage: Pick<Storage, 'find'>, db: Executor, letter: Named
): Promise<StoredObject | undefined> {
  return storage.find(db, LETTERS, nameOf(letter))
}
