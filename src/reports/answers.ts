import type { FastifyReply } from 'fastify'
import { contentDisposition } from '#src/lib/content-disposition.ts'
import type { GeneratedPdf } from '#src/pdf/index.ts'

/** Where a PDF that is kept is downloaded, by whoever may see it. */
export function downloadUrl (publicUrl: string, { id }: Pick<GeneratedPdf, 'id'>): string {
  return `${publicUrl}/api/csv-pdf-download/${id}`
}

/** What is answered of a PDF that was made and is kept. */
export function madeAnswer (publicUrl: string, record: Pick<GeneratedPdf, 'id'>) {
  return { status: 'success' as const, download_url: downloadUrl(publicUrl, record), transaction_ref: record.id }
}

/** A PDF that is not read from the archive. */
export function sendPdf (reply: FastifyReply, bytes: Buffer, nome: string): FastifyReply {
  return reply.type('application/pdf').headers({
    'content-disposition': contentDisposition('attachment', nome),
    'x-content-type-options': 'nosniff'
  }).send(bytes)
}
