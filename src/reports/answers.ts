import type { FastifyReply } from 'fastify'
import { contentDisposition } from '#src/lib/content-disposition.ts'
import type { GeneratedPdf, Pdf } from '#src/pdf/index.ts'

/** Characters of the header with the warnings: some proxies refuse long ones. */
const WARNINGS_MAX = 4000

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

/** `X-PDF-Warnings`: JSON in ASCII, as many warnings as find room; without any there is no header. */
export function warn (reply: FastifyReply, { warnings }: Pick<Pdf, 'warnings'>): void {
  const told = [...warnings]
  let text = inAscii(told)
  while (text.length > WARNINGS_MAX) {
    told.pop()
    text = inAscii(told)
  }
  if (told.length > 0) reply.header('x-pdf-warnings', text)
}

function inAscii (value: unknown): string {
  return JSON.stringify(value).replace(/[^\x20-\x7e]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
