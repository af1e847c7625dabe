import { finished, Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import { destroyWhenStalled } from '#src/lib/destroy-when-stalled.ts'
import { limitConcurrencyByCaller } from '#src/lib/concurrency-limit.ts'

/** Maximum long responses at once, in total and per caller. Callers without credentials have a separate limit. */
const CONCURRENCY = { total: 32, perCaller: 8 }
export const STALLED_AFTER_MS = 30_000

export interface StreamOptions {
  /** Disconnects a client after this many milliseconds without progress. */
  stalledReaderMs?: number
}

/**
 * Yields JSON in pieces. A piece is produced after the client has read the earlier ones.
 * @param acquireSlot announces a long response. Call it before the first piece. Later calls do nothing.
 */
export type JsonPieces = (acquireSlot: () => void) => AsyncGenerator<string>

declare module 'fastify' {
  interface FastifyReply {
    /**
     * Streams JSON without the serializer. If it fails before the first piece, the client gets an error response, such
     * as ServizioOccupato when too many long responses run. A later failure destroys the connection. Clients that stop
     * reading are disconnected.
     */
    sendPieces (pieces: JsonPieces): FastifyReply
    /**
     * Streams a response that is not JSON. The caller sets its type. The response always counts as long, and fails like
     * `sendPieces`.
     * @param make called when the concurrency limit admits the response
     * @throws ServizioOccupato, and errors of `make`
     */
    sendBytes (make: () => Promise<Readable>): Promise<FastifyReply>
  }
}

/** Long responses, such as a whole table. Their number and the memory of each are limited, even with slow clients. */
export default fp<StreamOptions>(async function streams (app, { stalledReaderMs = STALLED_AFTER_MS }) {
  const acquireSlot = limitConcurrencyByCaller(CONCURRENCY)

  app.decorateReply('sendPieces', function sendPieces (pieces) {
    this.type('application/json; charset=utf-8')
    let taken = false
    const takeOnce = () => {
      if (taken) return
      takeTurnOf(this)
      taken = true
    }
    destroyWhenStalled(this.raw, stalledReaderMs)
    return this.send(Readable.from(pieces(takeOnce), { objectMode: false }))
  })

  app.decorateReply('sendBytes', async function sendBytes (make) {
    takeTurnOf(this)
    const bytes = await make()
    destroyWhenStalled(this.raw, stalledReaderMs)
    return await this.send(bytes)
  })

  function takeTurnOf ({ request, raw }: FastifyReply): void {
    finished(raw, acquireSlot(request))
  }
}, { name: 'streams' })
