import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { FieldError } from '#schemas/common.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'

type Fields = Readonly<Record<string, unknown>>

/** The fields of a request. When its schema has rejected it, they may have any type or be missing. */
export interface RequestFields { params: Fields, body: Fields, query: Fields, headers: Fields }

/** Checks rules across fields, which a JSON schema cannot express. It skips fields that the schema rejects. */
export type FindFaults = (fields: RequestFields) => FieldError[]

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Runs before the handler, also when the schema rejects the request: one response lists every error. */
    findFaults?: FindFaults
  }
}

/** Rejects requests whose fields are each valid, but contradict each other. */
export default fp(async function faults (app) {
  app.addHook('onRoute', (route) => {
    if (route.config?.findFaults === undefined) return
    route.preHandler = [refuseFaults, ...[route.preHandler ?? []].flat()]
  })
}, { name: 'faults', dependencies: ['idempotency'] })

/** Runs the route's own check on a request, whether or not its schema accepts it. */
export function furtherFaults ({ params, body, query, headers, routeOptions }: FastifyRequest): FieldError[] {
  const fields = { params: fieldsOf(params), body: fieldsOf(body), query: fieldsOf(query), headers }
  return routeOptions.config.findFaults?.(fields) ?? []
}

async function refuseFaults (request: FastifyRequest): Promise<void> {
  const found = furtherFaults(request)
  if (found.length > 0) throw new CampiNonValidi(...found)
}

function fieldsOf (part: unknown): Fields {
  return typeof part === 'object' && part !== null && !Array.isArray(part) ? part as Fields : {}
}
