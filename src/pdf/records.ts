import { and, desc, eq, inArray, lt, type SQL } from 'drizzle-orm'
import { generated_pdfs as pdfs } from '#drizzle/tables/pdf.ts'
import type { PdfKind } from '#schemas/pdf.ts'
import { decodeCursor, type Position } from '#src/lib/paging.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import type { Storage, StoredObject } from '#src/services/files/storage.ts'

/** A PDF that was made and is kept. */
export type GeneratedPdf = typeof pdfs.$inferSelect

/** What is on record of a PDF. */
export interface NewPdf {
  /** A UUID; without one it is given. */
  id?: string
  tipo: PdfKind
  /** The id of the person whose it is; null: a machine's. */
  utente: string | null
  /** Null: the template came with the request. */
  template_id: string | null
  /** The name of the file for who downloads it. */
  nome: string
  /** Kept in the same transaction. */
  object: Pick<StoredObject, 'bucket' | 'name'>
  prenotazione_id?: number | null
}

export interface PdfFilters {
  /** Whose; undefined: everybody's. */
  utente?: string | undefined
  tipi?: readonly PdfKind[] | undefined
}

export interface PdfPage { data: GeneratedPdf[], next: Position | undefined }

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i
const SORT = 'numero'

/**
 * Puts a PDF on record, in the transaction that keeps its file (`storage.keep`). The record goes with the file: where
 * that is discarded or replaced, there is nothing to do.
 */
export async function recordPdf (tx: Transaction, { object, ...values }: NewPdf): Promise<GeneratedPdf> {
  const [row] = await tx.insert(pdfs).values({ ...values, bucket: object.bucket, oggetto: object.name }).returning()
  return row!
}

/** Forgets PDFs and discards their files, in the caller's transaction. */
export async function removePdfs (storage: Storage, tx: Transaction, ids: readonly string[]): Promise<void> {
  const gone = await tx.delete(pdfs).where(inArray(pdfs.id, [...ids])).returning()
  for (const { bucket, oggetto } of gone) {
    const object = await storage.find(tx, bucket, oggetto)
    if (object) await storage.discard(tx, [object])
  }
}

/** Undefined, too, for what cannot be an id. */
export async function findPdf (db: Executor, id: string): Promise<GeneratedPdf | undefined> {
  if (!UUID.test(id)) return undefined
  const [row] = await db.select().from(pdfs).where(eq(pdfs.id, id))
  return row
}

/**
 * A page of PDFs, the newest first.
 * @throws CampiNonValidi for a cursor that is not ours
 */
export async function pdfPage (
  db: Executor, filters: PdfFilters, limit: number, cursor?: string
): Promise<PdfPage> {
  const after = cursor === undefined ? undefined : decodeCursor(cursor, SORT)
  // One more than asked for tells whether any follows.
  const rows = await db.select().from(pdfs)
    .where(and(conditions(filters), after && lt(pdfs.numero, after.id)))
    .orderBy(desc(pdfs.numero)).limit(limit + 1)
  const data = rows.slice(0, limit)
  const last = data.at(-1)
  const next = rows.length > limit && last ? { sort: SORT, value: String(last.numero), id: last.numero } : undefined
  return { data, next }
}

export async function countPdfs (db: Executor, filters: PdfFilters): Promise<number> {
  return await db.$count(pdfs, conditions(filters))
}

function conditions ({ utente, tipi }: PdfFilters): SQL | undefined {
  return and(
    utente === undefined ? undefined : eq(pdfs.utente, utente),
    tipi === undefined ? undefined : inArray(pdfs.tipo, [...tipi])
  )
}
