import { finished, Readable } from 'node:stream'
import fp from 'fastify-plugin'
import { cutWhenStalled } from '#src/lib/stalled.ts'
import { limitTurns } from '#src/lib/turns.ts'

/** Long answers under way at a time, of all callers and of one. */
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
  }
}

/** Answers as long as a table: a bounded number of them, each of bounded memory, however slowly they are read. */
export default fp<StreamOptions>(async function streams (app, { stalledReaderMs = STALLED_AFTER_MS }) {
  const takeTurn = limitTurns(TURNS)

  app.decorateReply('sendPieces', function sendPieces (pieces) {
    this.type('application/json; charset=utf-8')
    let taken = false
    const takeOnce = () => {
      if (taken) return
      const giveBack = takeTurn(this.request.principal?.id ?? this.request.ip)
      taken = true
      finished(this.raw, giveBack)
    }
    cutWhenStalled(this.raw, stalledReaderMs)
    return this.send(Readable.from(pieces(takeOnce), { objectMode: false }))
  })
}, { name: 'streams' })
