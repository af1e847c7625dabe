import type { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/** Sends what is JSON already, as text or as a stream of text: rows that PostgreSQL has written are not parsed to be written again. */
export function sendJson (reply: FastifyReply, json: string | Readable): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(json)
}
