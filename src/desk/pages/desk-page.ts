import { createHmac, timingSafeEqual } from 'node:crypto'
import createError from '@fastify/error'
import { Type, type TSchema } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest, LightMyRequestResponse } from 'fastify'
import type { ErrorBody } from '#schemas/common.ts'
import type { Clock } from '#src/lib/time.ts'
import { NonAutorizzato } from '#src/lib/errors.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import {
  fill, injectRoute, isLanguage, languageOf, proofPage, RedirectError, requireVisitor, type Language, type RouteCall,
  type Visitor
} from '#src/identity/index.ts'
import { frameTexts, type FrameTexts } from './texts/frame-texts.ts'

/** Maximum characters of a field of a form. */
const MAX_FIELD_LENGTH = 32_768

const route = routesUnder('Sistema')
/** No guard, because a page reads the session cookie itself. */
const PAGE = { access: 'public', readsCookie: true } as const
export const HTML = { description: 'Una pagina HTML', content: { 'text/html': { schema: Type.String() } } }
const FormBody = Type.Record(Type.String(), Type.String({ maxLength: MAX_FIELD_LENGTH }))

const ModuloScaduto = createError('MODULO_SCADUTO', 'Il modulo è scaduto: ricaricare la pagina', 403)

/** The plugin options of every screen. */
export interface DeskOptions { clock: Clock }

/** Query parameters that every page may have: `esito` selects the notice after a form (`NOTICES` in the layout). */
const DeskQuery = { esito: Type.Optional(Type.String({ maxLength: 20 })) }

/**
 * The options of a screen's GET route.
 * @param operationId unique in the project. @param query further query parameters. @param params the path's parameters
 */
export function deskPage<const Q extends Record<string, TSchema> = {}, const P extends object = {}> (
  operationId: string, summary: string, { query, ...parts }: { query?: Q } & P = {} as { query?: Q } & P
) {
  return route(PAGE, operationId, summary, {
    hide: true, querystring: Type.Object({ ...DeskQuery, ...query! }), response: { 200: HTML }, ...parts
  })
}

/** The options of a form's POST route. `request.body` has the fields as texts. The route of the API validates them. */
export function deskPost<const P extends object = {}> (operationId: string, summary: string, parts = {} as P) {
  return route(PAGE, operationId, summary, {
    hide: true, body: FormBody, response: { 200: HTML }, ...parts
  })
}

/** A response of a route of the API. */
export interface Answer<T> {
  status: number
  body: T
  etag: string | undefined
  /** The cursor of the next page of a list, from `Link`. */
  nextCursor: string | undefined
  /** The size of a paginated list, from `X-Total-Count`. */
  total: number | undefined
}

/** A refusal by a route of the API, with its error body. */
export class Refusal extends Error {
  readonly body: ErrorBody
  constructor (body: ErrorBody) {
    super(body.codice)
    this.body = body
  }
}

/** The request of a signed-in person, with what every screen needs. */
export interface Desk {
  request: FastifyRequest
  reply: FastifyReply
  visitor: Visitor
  language: Language
  /** The texts of the frame. A screen has its own table. */
  texts: FrameTexts
  /**
   * Calls a route of the API for the person, in process: same validation, rights, idempotency and audit log.
   * @throws Refusal, RedirectError when the person must sign in again or prove the second factor
   */
  call: <T>(call: Omit<RouteCall, 'token'>) => Promise<Answer<T>>
}

/** The part of a desk that an error page has too, even when the person is signed out. */
export type Frame = Pick<Desk, 'request' | 'reply' | 'language' | 'texts'>

/**
 * Opens the desk for a request. Each handler calls it first. It requires a signed-in person, and checks the CSRF token.
 * @throws RedirectError to the sign-in page, from where the person returns. ModuloScaduto for a wrong token
 */
export async function openDesk (request: FastifyRequest, reply: FastifyReply): Promise<Desk> {
  const visitor = await requireVisitor(request)
  const { lingua } = visitor.user.user_metadata
  if (isLanguage(lingua)) languages.set(request, lingua)
  if (request.method === 'POST' && !hasCsrfToken(request, visitor)) throw new ModuloScaduto()
  return deskOf(request, reply, visitor)
}

/** The languages that signed-in persons have chosen, which an error page of their request has too. */
const languages = new WeakMap<FastifyRequest, Language>()

function chosenLanguage (request: FastifyRequest): Language {
  return languages.get(request) ?? languageOf(request)
}

/** Makes a desk for a person whom the caller has authenticated. Without `openDesk` the language is the browser's. */
export function deskOf (request: FastifyRequest, reply: FastifyReply, visitor: Visitor): Desk {
  const { token } = visitor
  return {
    ...openFrame(request, reply),
    visitor,
    call: (call) => callApi(request, { ...call, token })
  }
}

/** Whether the person is an administrator. A page leaves out actions that the routes would refuse. */
export async function isAdministrator ({ request, visitor: { caller } }: Desk): Promise<boolean> {
  return await request.server.identity.authenticator.isAdmin(caller, request)
}

/** Opens a page that only administrators see. @throws NonAutorizzato, and errors of `openDesk` */
export async function openAdministration (request: FastifyRequest, reply: FastifyReply): Promise<Desk> {
  const desk = await openDesk(request, reply)
  if (!await isAdministrator(desk)) throw new NonAutorizzato()
  return desk
}

/** Makes a frame in the language of the person, or of the browser of a visitor who is not signed in. */
export function openFrame (request: FastifyRequest, reply: FastifyReply): Frame {
  const language = chosenLanguage(request)
  return { request, reply, language, texts: frameTexts[language] }
}

async function callApi<T> (request: FastifyRequest, call: RouteCall): Promise<Answer<T>> {
  const response = await fetchRoute(request, call)
  const { statusCode: status, headers: { etag, link, 'x-total-count': total } } = response
  const body = (response.body === '' ? {} : response.json()) as T
  const [, nextCursor] = /[?&]cursor=([\w-]+)[^>]*>; rel="next"/.exec(String(link)) ?? []
  return { status, body, etag, nextCursor, total: total === undefined ? undefined : Number(total) }
}

/**
 * Calls a route of the API in process, and returns its whole response, e.g. the bytes of a file.
 * @throws Refusal, RedirectError
 */
export async function fetchRoute (request: FastifyRequest, call: RouteCall): Promise<LightMyRequestResponse> {
  const response = await injectRoute(request, call)
  if (response.statusCode < 400) return response
  const refusal = errorBodyOf(request, response)
  // A `user_not_found` with status 404 concerns the person in the URL. Otherwise it concerns the signed-in person.
  const proof = response.statusCode === 404 ? undefined : proofPage(refusal.codice)
  throw proof === undefined ? new Refusal(refusal) : new RedirectError(proof)
}

/** The error body. Errors of the identity protocol get a general text, which screens replace with their own. */
function errorBodyOf (request: FastifyRequest, response: LightMyRequestResponse): ErrorBody {
  const body = response.json<ErrorBody | { error_code: string }>()
  if (!('error_code' in body)) return body
  const { failedText, notFoundText } = frameTexts[chosenLanguage(request)]
  const { statusCode: status } = response
  return {
    error: status === 404 ? notFoundText : failedText, status, codice: body.error_code, requestId: request.id
  }
}

/** The CSRF token of a session. Another site does not know it, so it cannot submit the person's forms. */
export function csrfToken (
  { request: { server }, visitor: { session } }: Pick<Desk, 'request' | 'visitor'>
): string {
  return createHmac('sha256', server.identity.keys.derive('desk-form')).update(session.id).digest('base64url')
}

function hasCsrfToken (request: FastifyRequest, visitor: Visitor): boolean {
  const { modulo = '' } = request.body as { modulo?: string }
  const expected = Buffer.from(csrfToken({ request, visitor }))
  const presented = Buffer.from(modulo)
  return presented.length === expected.length && timingSafeEqual(presented, expected)
}

const LOCALES: Readonly<Record<Language, string>> = { it: 'it-IT', en: 'en-GB', de: 'de-DE', fr: 'fr-FR' }
const DAY = { day: '2-digit', month: '2-digit', year: 'numeric' } as const
const MINUTE = { hour: '2-digit', minute: '2-digit' } as const
const formats = new Map<string, Intl.DateTimeFormat>()

/** Caches formats, because a page with hundreds of days would spend most of its time creating them. */
function format ({ language }: Pick<Frame, 'language'>, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${language} ${JSON.stringify(options)}`
  let kept = formats.get(key)
  if (kept === undefined) formats.set(key, kept = new Intl.DateTimeFormat(LOCALES[language], options))
  return kept
}

/** A calendar day (`YYYY-MM-DD`) in the person's language: `28/11/2026` or with options e.g. `sabato 28 novembre`. */
export function dayText (
  frame: Pick<Frame, 'language'>, day: string, options: Intl.DateTimeFormatOptions = DAY
): string {
  return format(frame, { ...options, timeZone: 'UTC' }).format(new Date(`${day}T00:00Z`))
}

/** An instant in the person's language, in Italian time: `28/11/2026, 21:40`. */
export function instantText (frame: Pick<Frame, 'language'>, instant: string): string {
  return format(frame, { timeZone: 'Europe/Rome', ...DAY, ...MINUTE }).format(new Date(instant))
}

/** The time of an instant in Italian time: `21:40`. */
export function timeText (frame: Pick<Frame, 'language'>, instant: Date): string {
  return format(frame, { timeZone: 'Europe/Rome', ...MINUTE }).format(instant)
}

/** An instant a few weeks from now at most, in Italian time, without the year: `28/11, 21:40`. */
export function shortInstant (frame: Pick<Frame, 'language'>, instant: string): string {
  const { day, month } = DAY
  return format(frame, { timeZone: 'Europe/Rome', day, month, ...MINUTE }).format(new Date(instant))
}

/** Replaces the placeholder of a text, e.g. `{n} ospiti`. */
export { fill }
