import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { FieldError } from '#schemas/common.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'

type Fields = Readonly<Record<string, unknown>>

/** The fields of a request. Where its schema has refused them they may be of any kind, or missing. */
export interface RequestFields { params: Fields, body: Fields, query: Fields, headers: Fields }

/** What is wrong with several fields together, which no schema can say. What a schema refuses is passed over. */
export type FindFaults = (fields: RequestFields) => FieldError[]

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Run before the handler; on a request that its schema refuses too, so that one answer names every fault. */
    findFaults?: FindFaults
  }
}

/** Refuses requests whose fields are each as they should be, but not together. */
export default fp(async function faults (app) {
  app.addHook('onRoute', (route) => {
    if (route.config?.findFaults === undefined) return
    route.preHandler = [refuseFaults, ...[route.preHandler ?? []].flat()]
  })
}, { name: 'faults', dependencies: ['idempotency'] })

/** What the route's own check says of a request, whether or not its schema is content. */
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
