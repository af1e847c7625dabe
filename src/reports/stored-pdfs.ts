import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Bucket } from '#schemas/storage.ts'
import { contentDisposition } from '#src/lib/content-disposition.ts'
import type { GeneratedPdf, NewPdf, Pdf, PdfJob } from '#src/pdf/index.ts'
import { disconnectSignal } from '#src/http/client-disconnects.ts'

const REPORTS: Bucket = 'reports'
/** Maximum bytes of a PDF that the engine produces. */
const BYTES_MAX = 64 * 1024 * 1024

export type App = Pick<FastifyInstance, 'db' | 'identity' | 'pdf' | 'files'>

/** Makes a PDF, and aborts when the client disconnects. */
export function makeFor (app: App, reply: FastifyReply, job: PdfJob): Promise<Pdf> {
  return app.pdf.make(job, { caller: reply.request.principal!.id, signal: disconnectSignal(reply) })
}

/** Writes the file of a PDF, then stores its row, the PDF's record and the idempotency record in one transaction. */
export async function storePdf (
  { db, pdf, files }: App,
  request: FastifyRequest,
  { bytes }: Pdf,
  description: Pick<NewPdf, 'tipo' | 'utente' | 'template_id' | 'nome'>
): Promise<GeneratedPdf> {
  const id = randomUUID()
  const owner = description.utente === null ? null : `user:${description.utente}`
  const file = await files.write(
    bytes, { bucket: REPORTS, name: `${id}.pdf`, contentType: 'application/pdf', owner }, BYTES_MAX
  )
  return await files.settle(file, () => db.transaction(async (tx) => {
    const object = await files.keep(tx, file, { replace: false })
    const record = await pdf.record(tx, { id, object, ...description })
    await request.recordInProgress(tx, id)
    return record
  }))
}

/** The download URL of a stored PDF, for callers who may see it. */
export function downloadUrl (publicUrl: string, { id }: Pick<GeneratedPdf, 'id'>): string {
  return `${publicUrl}/api/csv-pdf-download/${id}`
}

/** The response for a PDF that was created and stored. */
export function pdfResponse (publicUrl: string, record: Pick<GeneratedPdf, 'id'>) {
  return { status: 'success' as const, download_url: downloadUrl(publicUrl, record), transaction_ref: record.id }
}

/** Sends a PDF that is in memory. */
export function sendPdf (reply: FastifyReply, bytes: Buffer, nome: string): FastifyReply {
  return reply.type('application/pdf').headers({
    'content-disposition': contentDisposition('attachment', nome),
    'x-content-type-options': 'nosniff'
  }).send(bytes)
}
