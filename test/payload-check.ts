import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { ValidateFunction } from 'ajv'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Test } from 'tap'
import { isCatalogued, isCommon } from '#schemas/errors/catalogue.ts'
import { sentHeaders, type Trait } from '#schemas/openapi/route-headers.ts'
import { createAjv } from '#src/http/validation.ts'

/**
 * Headers of any answer, which the description does not name: of HTTP itself and its caches, for browsers, and for
 * machines on the way.
 */
const OF_ANY_ANSWER = new Set([
  'cache-control', 'connection', 'content-encoding', 'content-length', 'content-security-policy', 'content-type',
  'cross-origin-resource-policy', 'date', 'keep-alive', 'referrer-policy', 'strict-transport-security',
  'transfer-encoding', 'vary', 'x-accel-buffering', 'x-content-type-options', 'x-frame-options', 'x-robots-tag'
])

type Responses = Record<string, object | undefined>

/** Of an answer that comes as bytes or as JSON, the JSON. */
function ofJson (schema: object | undefined): object | undefined {
  const content = schema && 'content' in schema ? schema.content as Record<string, { schema: object }> : {}
  return content['application/json']?.schema ?? schema
}

/** What an operation answers beside common errors; undefined for a route of a test, which is not described. */
function ownCodes ({ routeOptions: { schema } }: FastifyRequest): readonly string[] | undefined {
  return schema?.operationId === undefined ? undefined : schema.errorCodes ?? []
}

// Without a look at the schemas themselves, for which every Ajv compiles the meta-schema: Fastify has had one.
const ajv = createAjv({ coerceTypes: false, useDefaults: false, validateSchema: false }).addFormat('binary', true)
/** By what they say: every application of a process has schemas of its own, which say the same. */
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

/** What a route may send with a status, and what it must: worked out once for each. */
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
 * Fails the test when a payload is not exactly what its route declares for its status. fast-json-stringify never
 * complains: it drops extra fields and writes `""` for a null, so the payload is checked before it is serialized; text
 * that is JSON already and streams are checked as they are sent.
 */
export function checkPayloads (t: Pick<Test, 'fail'>): (app: FastifyInstance) => void {
  return (app) => {
    const checked = new WeakSet<FastifyRequest>()

    function check (request: FastifyRequest, reply: FastifyReply, payload: unknown) {
      checked.add(request)
      const responses = (request.routeOptions.schema?.response ?? {}) as Responses
      const schema = ofJson(responses[reply.statusCode] ?? responses[`${String(reply.statusCode)[0]}xx`])
      const where = `${request.method} ${request.routeOptions.url} ${reply.statusCode}`
      // Unknown addresses and swagger-ui's own pages have no route of ours behind them.
      if (!request.routeOptions.url || request.routeOptions.url.startsWith('/docs')) return
      if (!schema) return t.fail(`${where}: no schema for this status`)
      checkCode(where, reply.statusCode, ownCodes(request), payload)
      // A stored file, of whatever type.
      if ('content' in schema && '*/*' in (schema.content as object)) return
      const validate = validator(schema, () => request.server.getSchemas())
      if (!validate(payload)) {
        t.fail(`${where}: the payload is not what the schema declares`, { errors: validate.errors, payload })
      }
    }

    /** A person who looks up the code of an error must find it, and a program learns of it from the description. */
    function checkCode (where: string, status: number, own: readonly string[] | undefined, payload: unknown) {
      if (typeof payload !== 'object' || payload === null || !('codice' in payload && 'requestId' in payload)) return
      const code = String(payload.codice)
      if (!isCatalogued(code, status)) t.fail(`${where}: ${code} is not in schemas/errors`)
      if (own && !isCommon(code) && !own.includes(code)) t.fail(`${where}: ${code} is not among its errorCodes`)
    }

    /** A header that a route sends is described there, and one that is promised is sent. */
    function checkHeaders (request: FastifyRequest, reply: FastifyReply) {
      const { method, routeOptions: { schema, config, url } } = request
      // A page is no part of the description.
      if (schema?.operationId === undefined || schema.hide || method === 'HEAD') return
      // A status that a test answers with.
      const responses = (schema.response ?? {}) as Responses
      if (!(responses[reply.statusCode] ?? responses[`${String(reply.statusCode)[0]}xx`])) return
      const { allowed, promised } = describedHeaders({ method, schema, config }, reply.statusCode)
      const where = `${method} ${url} ${reply.statusCode}`
      for (const name of Object.keys(reply.getHeaders())) {
        if (OF_ANY_ANSWER.has(name) || name.startsWith('access-control-')) continue
        if (!allowed.has(name)) t.fail(`${where}: the header ${name} is not declared`)
      }
      for (const name of promised) {
        if (!reply.hasHeader(name)) t.fail(`${where}: the header ${name} is promised, and missing`)
      }
    }

    app.addHook('onResponse', function headers (request, reply, done) {
      // Of an answer that never began nothing can be said.
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
      // Over a connection of its own the caller sets the pace: what is checked here would be read at once.
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
