import { and, desc, eq, inArray, lt, type SQL } from 'drizzle-orm'
import { generated_pdfs as pdfs } from '#drizzle/tables/pdf.ts'
import type { PdfKind } from '#schemas/pdf.ts'
import { decodeCursor, type Position } from '#src/lib/paging.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import type { FileService, StoredFile } from '#src/services/files/file-service.ts'

/** The record of a stored PDF. */
export type GeneratedPdf = typeof pdfs.$inferSelect

/** The values for a new record. */
export interface NewPdf {
  /** A UUID. Generated when missing. */
  id?: string
  tipo: PdfKind
  /** The owner's user id. Null for a machine. */
  utente: string | null
  /** Null when the request contained the template. */
  template_id: string | null
  /** The file name for downloads. */
  nome: string
  /** The stored file, kept in the same transaction. */
  object: Pick<StoredFile, 'bucket' | 'name'>
  prenotazione_id?: number | null
}

export interface PdfFilters {
  /** The owner. Undefined means all owners. */
  utente?: string | undefined
  tipi?: readonly PdfKind[] | undefined
}

export interface PdfPage { data: GeneratedPdf[], next: Position | undefined }

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i
const SORT = 'numero'

/**
 * Inserts the record of a PDF, in the transaction that keeps its file (`files.keep`). A foreign key deletes the
 * record when the row of the file is deleted.
 */
export async function recordPdf (tx: Transaction, { object, ...values }: NewPdf): Promise<GeneratedPdf> {
  const [row] = await tx.insert(pdfs).values({ ...values, bucket: object.bucket, oggetto: object.name }).returning()
  return row!
}

/** Deletes records and discards their files, in the caller's transaction. */
export async function removePdfs (files: FileService, tx: Transaction, ids: readonly string[]): Promise<void> {
  const gone = await tx.delete(pdfs).where(inArray(pdfs.id, [...ids])).returning()
  for (const { bucket, oggetto } of gone) {
    const object = await files.find(tx, bucket, oggetto)
    if (object) await files.discard(tx, [object])
  }
}

/** The record with this id. Undefined when none exists, or the id is not a UUID. */
export async function findPdf (db: Executor, id: string): Promise<GeneratedPdf | undefined> {
  if (!UUID.test(id)) return undefined
  const [row] = await db.select().from(pdfs).where(eq(pdfs.id, id))
  return row
}

/**
 * A page of PDFs, newest first.
 * @throws CampiNonValidi for an invalid cursor
 */
export async function pdfPage (
  db: Executor, filters: PdfFilters, limit: number, cursor?: string
): Promise<PdfPage> {
  const after = cursor === undefined ? undefined : decodeCursor(cursor, SORT)
  // One extra row shows whether a next page exists.
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
