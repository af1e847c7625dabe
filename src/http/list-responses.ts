import type { FastifyReply, FastifyRequest } from 'fastify'
import { DEFAULT_LIMIT, encodeCursor, nextLink, type Position } from '#src/lib/paging.ts'
import type { JsonPieces } from './streams.ts'

/** Rows per query. For a full list, this many rows are in memory. */
const BATCH = 250

/** A batch of list items as comma-separated JSON, and the position after which the next batch starts. */
export interface Batch<Place> { json: string | null, next: Place | null | undefined }

/**
 * Returns a list as JSON between two texts. One batch becomes one text, more batches a stream. A client that reads
 * slowly occupies no database connection.
 */
export function inBatches<Place> (
  open: string, close: string, read: (after: Place | undefined) => Promise<Batch<Place>>
): JsonPieces {
  return async function * batches (acquireSlot) {
    let separator = open
    let after: Place | undefined
    do {
      const { json, next }: Batch<Place> = await read(after)
      if (!next && after === undefined) return open + (json ?? '') + close
      if (next) await acquireSlot()
      // The remaining rows may have been deleted meanwhile.
      if (json) yield separator + json
      if (json) separator = ','
      after = next ?? undefined
    } while (after !== undefined)
    yield separator === open ? open + close : close
  }
}

interface Paging { limit?: number, cursor?: string, conteggio?: boolean }

interface Listed<Row, Shown> {
  path: string
  page (limit: number, cursor: string | undefined): Promise<{ data: Row[], next: Position | undefined }>
  count (): Promise<number>
  present (row: Row): Shown
}

/** Responds with the whole list as a stream, or with the page that the query selects. */
export async function sendList<Row, Shown extends object> (
  request: FastifyRequest<{ Querystring: Paging }>,
  reply: FastifyReply,
  { path, page, count, present }: Listed<Row, Shown>
): Promise<FastifyReply | { data: Shown[] }> {
  const { limit, cursor, conteggio = cursor === undefined } = request.query
  if (limit === undefined && cursor === undefined) {
    if (conteggio) reply.header('x-total-count', await count())
    return reply.sendPieces(inBatches<string>('{"data":[', ']}', async (after) => {
      const { data, next } = await page(BATCH, after)
      return { json: data.map((row) => JSON.stringify(present(row))).join(), next: next && encodeCursor(next) }
    }))
  }
  const { data, next } = await page(limit ?? DEFAULT_LIMIT, cursor)
  if (conteggio) reply.header('x-total-count', await count())
  if (next) reply.header('link', nextLink(path, request.query, next))
  return { data: data.map(present) }
}
