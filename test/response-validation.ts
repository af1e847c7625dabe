import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { ValidateFunction } from 'ajv'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Test } from 'tap'
import { isCatalogued, isCommon } from '#schemas/errors/catalogue.ts'
import { sentHeaders, type Trait } from '#schemas/openapi/route-headers.ts'
import { createAjv } from '#src/http/validation.ts'

/** Headers that any response may have without a description: those of HTTP, caching, browsers and proxies. */
const OF_ANY_RESPONSE = new Set([
  'cache-control', 'connection', 'content-encoding', 'content-length', 'content-security-policy', 'content-type',
  'cross-origin-resource-policy', 'date', 'keep-alive', 'referrer-policy', 'strict-transport-security',
  'transfer-encoding', 'vary', 'x-accel-buffering', 'x-content-type-options', 'x-frame-options', 'x-robots-tag'
])

type Responses = Record<string, object | undefined>

/** The JSON schema of a response that may be bytes or JSON. */
function ofJson (schema: object | undefined): object | undefined {
  const content = schema && 'content' in schema ? schema.content as Record<string, { schema: object }> : {}
  return content['application/json']?.schema ?? schema
}

/** The error codes of an operation, without the common ones. Undefined for undescribed routes of tests. */
function ownCodes ({ routeOptions: { schema } }: FastifyRequest): readonly string[] | undefined {
  return schema?.operationId === undefined ? undefined : schema.errorCodes ?? []
}

// Does not validate the schemas, because every Ajv would compile the meta-schema. Fastify has validated them.
const ajv = createAjv({ coerceTypes: false, useDefaults: false, validateSchema: false }).addFormat('binary', true)
/** Validators by schema text, because each application in a process has its own, equal schema objects. */
const validators = new Map<string, ValidateFunction>()
const known = new WeakMap<object, ValidateFunction>()

function validator (schema: object, sharedSchemas: () => Record<string, unknown>): ValidateFunction {
  let validate = known.get(schema)
  if (validate) return validate
  const text = JSON.stringify(schema)
  validate = validators.get(text)
  if (!validate) {
    for (const [id, shared] of Object.entries(sharedSchemas())) {
      if (!(id in ajv.schemas)) ajv.addSchema(shared as object)
    }
    validate = ajv.compile(schema)
    validators.set(text, validate)
  }
  known.set(schema, validate)
  return validate
}

/** Allowed and mandatory headers of a route and status, computed once. */
interface Described { allowed: ReadonlySet<string>, promised: readonly string[] }
const described = new WeakMap<object, Map<string, Described>>()

function describedHeaders (trait: Trait, status: number): Described {
  const ofRoute = described.get(trait.config) ?? new Map<string, Described>()
  described.set(trait.config, ofRoute)
  const answer = `${trait.method} ${status}`
  let found = ofRoute.get(answer)
  if (!found) {
    const sent = sentHeaders(trait, String(status))
    found = {
      allowed: new Set(sent.map(({ name }) => name.toLowerCase())),
      promised: sent.filter(({ always }) => always).map(({ name }) => name)
    }
    ofRoute.set(answer, found)
  }
  return found
}

/**
 * Fails the test when a payload differs from the schema of its route and status. fast-json-stringify never fails: it
 * drops extra fields, and writes `""` for null. So payloads are validated before serialization, and JSON text and
 * streams when they are sent.
 */
export function validateResponses (t: Pick<Test, 'fail'>): (app: FastifyInstance) => void {
  return (app) => {
    const checked = new WeakSet<FastifyRequest>()

    function check (request: FastifyRequest, reply: FastifyReply, payload: unknown) {
      checked.add(request)
      const responses = (request.routeOptions.schema?.response ?? {}) as Responses
      const schema = ofJson(responses[reply.statusCode] ?? responses[`${String(reply.statusCode)[0]}xx`])
      const where = `${request.method} ${request.routeOptions.url} ${reply.statusCode}`
      // Unknown paths and pages of swagger-ui have no described route.
      if (!request.routeOptions.url || request.routeOptions.url.startsWith('/docs')) return
      if (!schema) return t.fail(`${where}: no schema for this status`)
      checkCode(where, reply.statusCode, ownCodes(request), payload)
      // A stored file of any type.
      if ('content' in schema && '*/*' in (schema.content as object)) return
      const validate = validator(schema, () => request.server.getSchemas())
      if (!validate(payload)) {
        t.fail(`${where}: the payload is not what the schema declares`, { errors: validate.errors, payload })
      }
    }

    /** Error codes must be in the catalogue, and declared in the API description. */
    function checkCode (where: string, status: number, own: readonly string[] | undefined, payload: unknown) {
      if (typeof payload !== 'object' || payload === null || !('codice' in payload && 'requestId' in payload)) return
      const code = String(payload.codice)
      if (!isCatalogued(code, status)) t.fail(`${where}: ${code} is not in schemas/errors`)
      if (own && !isCommon(code) && !own.includes(code)) t.fail(`${where}: ${code} is not among its errorCodes`)
    }

    /** Every sent header must be described, and every promised header must be sent. */
    function checkHeaders (request: FastifyRequest, reply: FastifyReply) {
      const { method, routeOptions: { schema, config, url } } = request
      // HTML pages are not described.
      if (schema?.operationId === undefined || schema.hide || method === 'HEAD') return
      // Skips a status that only a test uses.
      const responses = (schema.response ?? {}) as Responses
      if (!(responses[reply.statusCode] ?? responses[`${String(reply.statusCode)[0]}xx`])) return
      const { allowed, promised } = describedHeaders({ method, schema, config }, reply.statusCode)
      const where = `${method} ${url} ${reply.statusCode}`
      for (const name of Object.keys(reply.getHeaders())) {
        if (OF_ANY_RESPONSE.has(name) || name.startsWith('access-control-')) continue
        if (!allowed.has(name)) t.fail(`${where}: the header ${name} is not declared`)
      }
      for (const name of promised) {
        if (!reply.hasHeader(name)) t.fail(`${where}: the header ${name} is promised, and missing`)
      }
    }

    app.addHook('onResponse', function headers (request, reply, done) {
      // A response that never started has no headers.
      if (reply.raw.headersSent) checkHeaders(request, reply)
      done()
    })

    app.addHook('preSerialization', async (request, reply, payload) => {
      check(request, reply, JSON.parse(JSON.stringify(payload)))
      return payload
    })

    app.addHook('onSend', async (request, reply, payload) => {
      const isJson = String(reply.getHeader('content-type')).startsWith('application/json')
      if (checked.has(request) || !isJson) return payload
      // On a real connection the client determines the pace, and a read of the stream here would empty it at once.
      if (payload instanceof Readable && request.raw.socket instanceof Socket) return payload
      const text =
        payload instanceof Readable
          ? Buffer.concat(await payload.map((chunk) => Buffer.from(chunk)).toArray()).toString()
          : payload
      if (typeof text === 'string') check(request, reply, JSON.parse(text))
      return text
    })
  }
}
