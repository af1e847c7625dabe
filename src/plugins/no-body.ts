import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'

/**
 * Sends what is JSON already, as text or as a stream of text: rows that PostgreSQL has written are not parsed to be
 * written again.
 */
export function sendJson (reply: FastifyReply, json: string | Readable): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(json)
}

/** Takes requests without a body for `{}` in a scope: some clients send the type of a body and none, some neither. */
export function acceptNoBody (app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, {})
    else void parse(request, body, done)
  })
  app.addHook('preValidation', async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') request.body ??= {}
  })
}
