import { finished, Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import { destroyWhenStalled } from '#src/lib/destroy-when-stalled.ts'
import { limitConcurrencyByCaller } from '#src/lib/concurrency-limit.ts'

/** Concurrent long responses, in total and per caller. Callers without credentials have their own pool. */
const CONCURRENCY = { total: 32, perCaller: 8 }
export const STALLED_AFTER_MS = 30_000

export interface StreamOptions {
  /** Disconnects a client after this many milliseconds without progress. */
  stalledReaderMs?: number
}

/**
 * Yields JSON in pieces. Each is produced when the client has read those before.
 * @param acquireSlot announces a long response. Call it before the first piece. Later calls do nothing.
 */
export type JsonPieces = (acquireSlot: () => void) => AsyncGenerator<string>

declare module 'fastify' {
  interface FastifyReply {
    /**
     * Streams JSON without the serializer. A failure before the first piece becomes an error response, such as
     * ServizioOccupato when too many long responses run. A later failure destroys the connection. Clients that stop
     * reading are disconnected.
     */
    sendPieces (pieces: JsonPieces): FastifyReply
    /**
     * Streams a response that is not JSON. The caller sets its type. It always counts as long, and fails like
     * `sendPieces`.
     * @param make called once the concurrency limit admits the response
     * @throws ServizioOccupato, and errors of `make`
     */
    sendBytes (make: () => Promise<Readable>): Promise<FastifyReply>
  }
}

/** Long responses, e.g. of a whole table. Their number and the memory of each are limited, however slow the client. */
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
