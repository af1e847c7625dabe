import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { FieldError } from '#schemas/common.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'

type Fields = Readonly<Record<string, unknown>>

/** The fields of a request. If the schema has rejected it, fields may have any type or be missing. */
export interface RequestFields { params: Fields, body: Fields, query: Fields, headers: Fields }

/**
 * Checks rules that a JSON schema cannot express, mostly about several fields. Skips fields that the schema rejects.
 */
export type FindValidationErrors = (fields: RequestFields) => FieldError[]

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Runs before the handler, even when the schema rejects the request, so that one response lists every error. */
    findValidationErrors?: FindValidationErrors
  }
}

/** Rejects requests that the schema accepts, but that the route's own check does not. */
export default fp(async function validationErrors (app) {
  app.addHook('onRoute', (route) => {
    if (route.config?.findValidationErrors === undefined) return
    route.preHandler = [refuseInvalidFields, ...[route.preHandler ?? []].flat()]
  })
}, { name: 'validation-errors', dependencies: ['idempotency'] })

/** Runs the route's own check on a request, even if its schema rejects the request. */
export function furtherValidationErrors ({ params, body, query, headers, routeOptions }: FastifyRequest): FieldError[] {
  const fields = { params: fieldsOf(params), body: fieldsOf(body), query: fieldsOf(query), headers }
  return routeOptions.config.findValidationErrors?.(fields) ?? []
}

async function refuseInvalidFields (request: FastifyRequest): Promise<void> {
  const found = furtherValidationErrors(request)
  if (found.length > 0) throw new CampiNonValidi(...found)
}

function fieldsOf (part: unknown): Fields {
  return typeof part === 'object' && part !== null && !Array.isArray(part) ? part as Fields : {}
}
