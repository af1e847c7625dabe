import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { DEFAULT_LIMIT, nextLink, encodeCursor } from '#src/lib/paging.ts'
import type { GeneratedPdf, PdfFilters } from '#src/pdf/index.ts'

/** Rows fetched at a time: what a full list holds in memory. */
const BATCH = 1000

interface Paging { limit?: number, cursor?: string, conteggio?: boolean }

/** Answers with a list of PDFs: whole, as a stream, or the page that the query asks for. */
export async function answerList<T extends object> (
  { db, pdf }: Pick<FastifyInstance, 'db' | 'pdf'>,
  request: FastifyRequest<{ Querystring: Paging }>,
  reply: FastifyReply,
  { filters, path, present }: { filters: PdfFilters, path: string, present: (row: GeneratedPdf) => T }
): Promise<FastifyReply | { data: T[] }> {
  const { limit, cursor, conteggio = cursor === undefined } = request.query
  if (limit === undefined && cursor === undefined) {
    if (conteggio) reply.header('x-total-count', await pdf.count(db, filters))
    return reply.sendPieces(async function * list (takeTurn) {
      let separator = '{"data":['
      let position: string | undefined
      do {
        const after = position
        const { data, next } = await pdf.page(db, filters, BATCH, after)
        if (next) takeTurn()
        const json = data.map((row) => JSON.stringify(present(row))).join()
        if (json !== '') yield separator + json
        if (json !== '') separator = ','
        position = next && encodeCursor(next)
      } while (position !== undefined)
      yield separator === ',' ? ']}' : `${separator}]}`
    })
  }
  const { data, next } = await pdf.page(db, filters, limit ?? DEFAULT_LIMIT, cursor)
  if (conteggio) reply.header('x-total-count', await pdf.count(db, filters))
  if (next) reply.header('link', nextLink(path, request.query, next))
  return { data: data.map(present) }
}
