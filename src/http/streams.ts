import { finished, Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import { destroyWhenStalled } from '#src/lib/destroy-when-stalled.ts'
import { limitConcurrencyByCaller } from '#src/lib/concurrency-limit.ts'

/** Maximum concurrent long responses, in total and per caller. Callers without credentials have a separate limit. */
const CONCURRENCY = { total: 32, perCaller: 8 }
export const STALLED_AFTER_MS = 30_000

export interface StreamOptions {
  /** Disconnects a client after this many milliseconds without progress. */
  stalledReaderMs?: number
}

/**
 * Yields JSON in pieces. A piece is produced after the client has read the earlier ones. A response of one piece is
 * returned instead, and is sent without a stream.
 * @param acquireSlot announces a long response. Call it before the first piece. Later calls do nothing.
 */
export type JsonPieces = (acquireSlot: () => Promise<void>) => AsyncGenerator<string, string | void>

declare module 'fastify' {
  interface FastifyReply {
    /**
     * Streams JSON without the serializer. If it fails before the first piece, the client gets an error response, such
     * as ServizioOccupato when too many long responses run. A later failure destroys the connection. Clients that stop
     * reading are disconnected.
     */
    sendPieces (pieces: JsonPieces): Promise<FastifyReply>
    /**
     * Streams a response that is not JSON. The caller sets its type. The response always counts as long, and fails like
     * `sendPieces`.
     * @param make called when the concurrency limit admits the response
     * @throws ServizioOccupato, and errors of `make`
     */
    sendBytes (make: () => Promise<Readable>): Promise<FastifyReply>
  }
}

/** Puts a piece back before the others. */
async function * joined (first: string, rest: ReturnType<JsonPieces>): AsyncGenerator<string> {
  try {
    yield first
    yield * rest
  } finally {
    await rest.return(undefined)
  }
}

/** Long responses, such as a whole table. Their number and the memory of each are limited, even with slow clients. */
export default fp<StreamOptions>(async function streams (app, { stalledReaderMs = STALLED_AFTER_MS }) {
  const acquireSlot = limitConcurrencyByCaller(CONCURRENCY)

  app.decorateReply('sendPieces', async function sendPieces (pieces) {
    this.type('application/json; charset=utf-8')
    let taken = false
    const takeOnce = async () => {
      if (taken) return
      await takeSlot(this)
      taken = true
    }
    const rest = pieces(takeOnce)
    const stream = (pieces: AsyncIterable<string>) => {
      destroyWhenStalled(this.raw, stalledReaderMs)
      return this.send(Readable.from(pieces, { objectMode: false }))
    }
    // The response to HEAD has no body, so no piece is produced.
    if (this.request.method === 'HEAD') return await stream(rest)
    const { value: first, done } = await rest.next()
    return await (done === true ? this.send(first) : stream(joined(first, rest)))
  })

  app.decorateReply('sendBytes', async function sendBytes (make) {
    await takeSlot(this)
    const bytes = await make()
    destroyWhenStalled(this.raw, stalledReaderMs)
    return await this.send(bytes)
  })

  async function takeSlot ({ request, raw }: FastifyReply): Promise<void> {
    finished(raw, await acquireSlot(request))
  }
}, { name: 'streams' })
