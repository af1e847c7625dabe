import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { logRequest } from './logging.ts'

/** In place of a status: the client has left before the answer, as proxies write it down. */
export const DEPARTED = 499

type Listener = (request: FastifyRequest, reply: FastifyReply) => void

declare module 'fastify' {
  interface FastifyInstance {
    /** Calls the listener for every request whose client leaves before its answer. */
    onDeparture (listener: Listener): void
  }
  interface FastifyReply {
    isAnswered: boolean
  }
}

/**
 * Clients that leave before their answer. What they asked for is carried out all the same, and has its line in the log;
 * `onResponse` is not run for it.
 */
export default fp(async function departures (app) {
  const listeners: Listener[] = [(request, reply) => logRequest(request, reply, DEPARTED)]

  app.decorate('onDeparture', function onDeparture (listener) {
    listeners.push(listener)
  })
  app.decorateReply('isAnswered', false)

  app.addHook('onResponse', function noteAnswer (_request, reply, done) {
    reply.isAnswered = true
    done()
  })

  app.addHook('onRequest', function watch (request, reply, done) {
    reply.raw.on('close', () => {
      if (!reply.isAnswered) for (const listener of listeners) listener(request, reply)
    })
    done()
  })
}, { name: 'departures' })

/**
 * Aborted when the client leaves before its answer. Fastify's own signal looks at the request, which over a connection
 * closes as soon as its body is read.
 */
export function departureOf ({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  if (raw.destroyed) gone.abort()
  raw.once('close', () => gone.abort())
  return gone.signal
}
