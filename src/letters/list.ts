import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Letter } from '#schemas/letter.ts'
import { DEFAULT_LIMIT, encodeCursor, nextLink } from '#src/lib/paging.ts'
import { countLetters, letterPage, type StoredLetter } from './repository.ts'

/** Rows fetched at a time: what a full list holds in memory. */
const BATCH = 1000
const PATH = '/api/lettere-benvenuto'

interface Paging { limit?: number, cursor?: string, conteggio?: boolean }

/** Answers with the letters: all of them, as a stream, or the page that the query asks for. */
export async function answerLetters (
  { db }: Pick<FastifyInstance, 'db'>,
  request: FastifyRequest<{ Querystring: Paging }>,
  reply: FastifyReply,
  present: (letter: StoredLetter) => Letter
): Promise<FastifyReply | { data: Letter[] }> {
  const { limit, cursor, conteggio = cursor === undefined } = request.query
  if (limit === undefined && cursor === undefined) {
    if (conteggio) reply.header('x-total-count', await countLetters(db))
    return reply.sendPieces(async function * list (takeTurn) {
      let separator = '{"data":['
      let position: string | undefined
      do {
        const after = position
        const { data, next } = await letterPage(db, BATCH, after)
        if (next) takeTurn()
        const json = data.map((row) => JSON.stringify(present(row))).join()
        if (json !== '') yield separator + json
        if (json !== '') separator = ','
        position = next && encodeCursor(next)
      } while (position !== undefined)
      yield separator === ',' ? ']}' : `${separator}]}`
    })
  }
  const { data, next } = await letterPage(db, limit ?? DEFAULT_LIMIT, cursor)
  if (conteggio) reply.header('x-total-count', await countLetters(db))
  if (next) reply.header('link', nextLink(PATH, request.query, next))
  return { data: data.map(present) }
}
