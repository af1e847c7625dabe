import createError from '@fastify/error'
import { errorCodes, type FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { CampiNonValidi } from '#src/lib/errors.ts'

/** Levels of objects and lists inside each other. The deepest body of the contract has six. */
const DEPTH_MAX = 32
/**
 * Commas and colons of a body that brings a file as text. Such a body is as long as a file: millions of names and
 * values in it would stop the event loop for seconds.
 */
const MARKS_MAX = 100

const TipoNonSupportato = createError('TIPO_NON_SUPPORTATO', '%s', 415)

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Commas and colons of a body that is held, where it brings rows and no file. */
    marksMax?: number
  }
  interface FastifyRequest {
    /** The JSON of an idempotent request as it was sent; `''` without a body. */
    bodyText: string
  }
}

/**
 * JSON, as the only format of a body. How deep it goes is bounded before anything reads it: what walks through a value
 * by calling itself would end in a stack overflow. So are the fields of a body as long as a file. A body of no bytes is
 * no body, also where the client names its type.
 */
export default fp(async function jsonBodies (app) {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.decorateRequest('bodyText', '')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, text, done) => {
    const refused = refusedCoding(request)
    if (refused !== undefined) return done(new TipoNonSupportato(refused))
    if (text === '') return done(null, undefined)
    const { holdsBody, marksMax = MARKS_MAX } = request.routeOptions.config
    const messaggio = faultOf(text, holdsBody ? marksMax : Infinity)
    if (messaggio !== undefined) return done(new CampiNonValidi({ campo: '', messaggio }))
    if (request.routeOptions.config.idempotent) request.bodyText = text
    if (request.routeOptions.config.holdsBody) return parseLong(text, done)
    void parse(request, text, done)
  })
}, { name: 'json-bodies' })

/** A body in another coding would be told that it is no JSON. */
function refusedCoding ({ headers }: FastifyRequest): string | undefined {
  const { 'content-encoding': coding = 'identity', 'content-type': type = '' } = headers
  if (coding.toLowerCase() !== 'identity') return 'Content-Encoding non supportato: il corpo va inviato non compresso'
  const [, charset = 'utf-8'] = /;\s*charset="?([^\s;"]+)/i.exec(type) ?? []
  return /^utf-?8$/i.test(charset) ? undefined : 'charset non supportato: il corpo va inviato in UTF-8'
}

/**
 * Without the look for `__proto__` in all of the text, which takes longer than the parsing: what a body as long as a
 * file may hold is a few known fields, and its schema refuses all others.
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

/** What is wrong with the structure of JSON; of any other text the parser decides. */
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

/** Where the string ends that begins there: at a quotation mark before which stands an even number of backslashes. */
function endOfString (text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end
    while (text[before - 1] === '\\') before--
    if ((end - before) % 2 === 0) return end
  }
  return text.length
}
