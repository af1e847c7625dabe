import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { logRequest } from './logging.ts'

/** Logged as the status when the client disconnects before the response, as nginx does. */
export const CLIENT_DISCONNECTED = 499

type Listener = (request: FastifyRequest, reply: FastifyReply) => void

declare module 'fastify' {
  interface FastifyInstance {
    /** Calls the listener for every request whose client disconnects before the response. */
    onClientDisconnect (listener: Listener): void
  }
  interface FastifyReply {
    isAnswered: boolean
  }
}

/**
 * Handles client disconnects before the response. The request still runs to its end and is logged, but Fastify does not
 * call `onResponse` for it.
 */
export default fp(async function clientDisconnects (app) {
  const listeners: Listener[] = [(request, reply) => logRequest(request, reply, CLIENT_DISCONNECTED)]

  app.decorate('onClientDisconnect', function onClientDisconnect (listener) {
    listeners.push(listener)
  })
  app.decorateReply('isAnswered', false)

  app.addHook('onResponse', function noteResponse (_request, reply, done) {
    reply.isAnswered = true
    done()
  })

  app.addHook('onRequest', function watch (request, reply, done) {
    reply.raw.on('close', () => {
      if (!reply.isAnswered) for (const listener of listeners) listener(request, reply)
    })
    done()
  })
}, { name: 'client-disconnects' })

/**
 * Returns a signal that aborts when the client disconnects. Fastify's own signal aborts as soon as the body of the
 * request has been read.
 */
export function disconnectSignal ({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  if (raw.destroyed) gone.abort()
  raw.once('close', () => gone.abort())
  return gone.signal
}
