import { finished, Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import { cutWhenStalled } from '#src/lib/stalled.ts'
import { limitCallers } from '#src/lib/turns.ts'

/** Long answers under way at a time, of all callers with credentials and of one, and as many of those without. */
const TURNS = { total: 32, perCaller: 8 }
export const STALLED_AFTER_MS = 30_000

export interface StreamOptions {
  /** Milliseconds without progress after which a caller who does not read is cut. */
  stalledReaderMs?: number
}

/**
 * JSON in pieces, each made when the caller has read those before.
 * @param takeTurn says that the answer will be long, before the first piece; further calls change nothing
 */
export type JsonPieces = (takeTurn: () => void) => AsyncGenerator<string>

declare module 'fastify' {
  interface FastifyReply {
    /**
     * Sends JSON in pieces; it does not pass the serializer. What fails before the first piece is answered as an
     * ordinary error: ServizioOccupato, too, when too many long answers are under way. What fails later cuts the
     * connection, and so does a caller who does not read.
     */
    sendPieces (pieces: JsonPieces): FastifyReply
    /**
     * Sends what is no JSON while it is made; its type is the caller's. Such an answer is always a long one. It fails
     * as one in pieces does.
     * @param make is called when there is a turn
     * @throws ServizioOccupato, and what `make` throws
     */
    sendBytes (make: () => Promise<Readable>): Promise<FastifyReply>
  }
}

/** Answers as long as a table: a bounded number of them, each of bounded memory, however slowly they are read. */
export default fp<StreamOptions>(async function streams (app, { stalledReaderMs = STALLED_AFTER_MS }) {
  const takeTurn = limitCallers(TURNS)

  app.decorateReply('sendPieces', function sendPieces (pieces) {
    this.type('application/json; charset=utf-8')
    let taken = false
    const takeOnce = () => {
      if (taken) return
      takeTurnOf(this)
      taken = true
    }
    cutWhenStalled(this.raw, stalledReaderMs)
    return this.send(Readable.from(pieces(takeOnce), { objectMode: false }))
  })

  app.decorateReply('sendBytes', async function sendBytes (make) {
    takeTurnOf(this)
    const bytes = await make()
    cutWhenStalled(this.raw, stalledReaderMs)
    return await this.send(bytes)
  })

  function takeTurnOf ({ request, raw }: FastifyReply): void {
    finished(raw, takeTurn(request))
  }
}, { name: 'streams' })
