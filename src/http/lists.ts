import type { FastifyReply, FastifyRequest } from 'fastify'
import { DEFAULT_LIMIT, encodeCursor, nextLink, type Position } from '#src/lib/paging.ts'
import type { JsonPieces } from './streams.ts'

/** Rows fetched at a time: what a full list holds in memory. */
const BATCH = 1000

/** Some items of a list as JSON with commas between them, and the place after which the next ones begin. */
export interface Run<Place> { json: string | null, next: Place | null | undefined }

/** A list as JSON between two texts, run by run. No connection is held while a slow client reads. */
export function inRuns<Place> (
  open: string, close: string, read: (after: Place | undefined) => Promise<Run<Place>>
): JsonPieces {
  return async function * runs (takeTurn) {
    let separator = open
    let after: Place | undefined
    do {
      const { json, next }: Run<Place> = await read(after)
      if (next) takeTurn()
      // Those that followed may have been deleted since.
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

/** Answers with a list: whole, in pieces, or the page that the query asks for. */
export async function answerList<Row, Shown extends object> (
  request: FastifyRequest<{ Querystring: Paging }>,
  reply: FastifyReply,
  { path, page, count, present }: Listed<Row, Shown>
): Promise<FastifyReply | { data: Shown[] }> {
  const { limit, cursor, conteggio = cursor === undefined } = request.query
  if (limit === undefined && cursor === undefined) {
    if (conteggio) reply.header('x-total-count', await count())
    return reply.sendPieces(inRuns<string>('{"data":[', ']}', async (after) => {
      const { data, next } = await page(BATCH, after)
      return { json: data.map((row) => JSON.stringify(present(row))).join(), next: next && encodeCursor(next) }
    }))
  }
  const { data, next } = await page(limit ?? DEFAULT_LIMIT, cursor)
  if (conteggio) reply.header('x-total-count', await count())
  if (next) reply.header('link', nextLink(path, request.query, next))
  return { data: data.map(present) }
}
