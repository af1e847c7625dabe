import { desc, eq, lt } from 'drizzle-orm'
import { lettere_benvenuto as letters } from '#drizzle/tables/letters.ts'
import type { Bucket } from '#schemas/storage.ts'
import type { FileService, StoredFile } from '#src/services/files/file-service.ts'
import { decodeCursor, type Position } from '#src/lib/paging.ts'
import { isOneOf } from '#src/database/columns.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { LetteraEsistente } from './errors.ts'

/** A letter as stored. `pdf` is the id of the record of its PDF. */
export type StoredLetter = typeof letters.$inferSelect

const SORT = 'id'

export async function findLetter (db: Executor, booking: number): Promise<StoredLetter | undefined> {
  const [row] = await db.select().from(letters).where(eq(letters.prenotazione_id, booking))
  return row
}

export async function findLetterById (db: Executor, id: number): Promise<StoredLetter | undefined> {
  const [row] = await db.select().from(letters).where(eq(letters.id, id))
  return row
}

/** Returns the given bookings that have a letter. */
export async function bookingsWithLetter (db: Executor, bookings: readonly number[]): Promise<ReadonlySet<number>> {
  if (bookings.length === 0) return new Set()
  const found = await db.select({ booking: letters.prenotazione_id }).from(letters)
    .where(isOneOf(letters.prenotazione_id, bookings))
  return new Set(found.map(({ booking }) => booking))
}

/** Locks the letters of bookings, so that concurrent deletions wait. */
export async function lockLetters (tx: Transaction, bookings: readonly number[]): Promise<StoredLetter[]> {
  return await tx.select().from(letters).where(isOneOf(letters.prenotazione_id, bookings)).orderBy(letters.id)
    .for('update')
}

/** @throws LetteraEsistente (409), even when another process has just created one */
export async function insertLetter (
  tx: Transaction, values: Pick<StoredLetter, 'prenotazione_id' | 'nome_ospite' | 'lingua' | 'pdf'>
): Promise<StoredLetter> {
  const [row] = await tx.insert(letters).values(values).onConflictDoNothing({ target: letters.prenotazione_id })
    .returning()
  if (!row) throw new LetteraEsistente()
  return row
}

/** A page of letters, newest first. @throws CampiNonValidi for an invalid cursor */
export async function letterPage (
  db: Executor, limit: number, cursor: string | undefined
): Promise<{ data: StoredLetter[], next: Position | undefined }> {
  const after = cursor === undefined ? undefined : decodeCursor(cursor, SORT)
  // One row more than requested, to detect whether a next page exists.
  const rows = await db.select().from(letters).where(after && lt(letters.id, after.id))
    .orderBy(desc(letters.id)).limit(limit + 1)
  const data = rows.slice(0, limit)
  const last = data.at(-1)
  const next = rows.length > limit && last ? { sort: SORT, value: String(last.id), id: last.id } : undefined
  return { data, next }
}

export const LETTERS: Bucket = 'letters'

type Named = Pick<StoredLetter, 'prenotazione_id' | 'pdf'>

/** The name of a letter's file. It is unique, so that a new letter never has the name of an old one. */
export function nameOf ({ prenotazione_id: booking, pdf }: Named): string {
  return `${booking}/${pdf}.pdf`
}

export function bookingOf (name: string): string {
  return name.split('/', 1)[0]!
}

/** The file of a letter. Undefined when the file no longer exists. */
export function fileOf (
  files: Pick<FileService, 'find'>, db: Executor, letter: Named
): Promise<StoredFile | undefined> {
  return files.find(db, LETTERS, nameOf(letter))
}

export async function countLetters (db: Executor): Promise<number> {
  return await db.$count(letters)
}
