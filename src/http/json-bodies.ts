import createError from '@fastify/error'
import { errorCodes, type FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { readUtf8 } from '#src/lib/utf8.ts'

/** Maximum nesting depth. The deepest body of the contract has six levels. */
const DEPTH_MAX = 32
/**
 * Maximum commas and colons in a body that contains a file as text. Parsing millions of fields would block the event
 * loop for seconds.
 */
const MARKS_MAX = 100

const TipoNonSupportato = createError('TIPO_NON_SUPPORTATO', '%s', 415)

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Maximum commas and colons in a large body that contains rows instead of a file. */
    marksMax?: number
  }
  interface FastifyRequest {
    /** The raw JSON of an idempotent request, or `''` without a body. */
    bodyText: string
  }
}

/**
 * Accepts only JSON in UTF-8, unless a scope adds a parser. Nesting depth is limited before parsing, because recursive
 * code would overflow the stack. On routes with `holdsBody` the number of fields is limited too. An empty body counts
 * as a missing body, even with a `Content-Type`.
 */
export default fp(async function jsonBodies (app) {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.decorateRequest('bodyText', '')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    const refused = refusedCoding(request)
    if (refused !== undefined) return done(new TipoNonSupportato(refused))
    const text = readUtf8(bytes)
    if (text === '') return done(null, undefined)
    const { holdsBody, marksMax = MARKS_MAX } = request.routeOptions.config
    const messaggio = faultOf(text, holdsBody ? marksMax : Infinity)
    if (messaggio !== undefined) return done(new CampiNonValidi({ campo: '', messaggio }))
    if (request.routeOptions.config.idempotent) request.bodyText = text
    if (request.routeOptions.config.holdsBody) return parseLong(text, done)
    void parse(request, text, done)
  })
}, { name: 'json-bodies' })

/** The error message for an unsupported encoding. Without it the client would get the error for invalid JSON. */
function refusedCoding ({ headers }: FastifyRequest): string | undefined {
  const { 'content-encoding': coding = 'identity', 'content-type': type = '' } = headers
  if (coding.toLowerCase() !== 'identity') return 'Content-Encoding non supportato: il corpo va inviato non compresso'
  const [, charset = 'utf-8'] = /;\s*charset="?([^\s;"]+)/i.exec(type) ?? []
  return /^utf-?8$/i.test(charset) ? undefined : 'charset non supportato: il corpo va inviato in UTF-8'
}

/**
 * Parses without searching for `__proto__`, because the search takes longer than parsing. The schema of a large body
 * rejects all fields that it does not name.
 */
function parseLong (text: string, done: (err: Error | null, body?: unknown) => void): void {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return done(new errorCodes.FST_ERR_CTP_INVALID_JSON_BODY())
  }
  done(null, body)
}

/** Returns the structural error of a JSON text. The parser finds syntax errors. */
function faultOf (text: string, marksMax: number): string | undefined {
  let depth = 0
  let marks = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '"') at = endOfString(text, at)
    else if (character === ']' || character === '}') depth--
    else if (character === '[' || character === '{') {
      if (++depth > DEPTH_MAX) return `non può avere più di ${DEPTH_MAX} livelli`
    } else if ((character === ',' || character === ':') && ++marks > marksMax) return 'ha troppi campi'
  }
  return undefined
}

/** Index of the closing quote of a string. A quote after an odd number of backslashes is escaped. */
function endOfString (text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end
    while (text[before - 1] === '\\') before--
    if ((end - before) % 2 === 0) return end
  }
  return text.length
}
