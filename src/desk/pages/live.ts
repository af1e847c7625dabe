import { Transform } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { Id } from '#schemas/common.ts'
import { disconnectSignal } from '#src/http/client-disconnects.ts'
import { STALLED_AFTER_MS } from '#src/http/streams.ts'
import { requireVisitor, RedirectError } from '#src/identity/index.ts'
import { destroyWhenStalled } from '#src/lib/destroy-when-stalled.ts'
import { NonAutenticato } from '#src/lib/errors.ts'
import { html, type Html } from '#src/lib/html.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import { buttonLink } from './desk-layout.ts'
import type { Desk } from './desk-page.ts'

const STREAM = '/desk/novita'

const streamRoute = routesUnder('Sistema')({ access: 'public', readsCookie: true } as const, 'getNovita',
  'Avvisa una pagina quando qualcosa cambia', {
    hide: true,
    querystring: Type.Object({ prenotazione_id: Type.Optional(Id) }),
    response: {
      200: { description: 'Un flusso', content: { 'text/event-stream': { schema: Type.Unsafe<unknown>({}) } } },
      204: { description: 'Adesso non c’è un flusso', type: 'null' }
    }
  })

/** The stream of events for a page, which has no token for the API. */
export const liveStream: FastifyPluginAsyncTypebox = async (app) => {
  app.get(STREAM, streamRoute, async (request, reply) => {
    const { token } = await requireVisitor(request).catch((err: unknown) => {
      // A stream cannot show the sign-in page, and sign-in must not return to it.
      throw err instanceof RedirectError ? new NonAutenticato() : err
    })
    const signal = disconnectSignal(reply)
    // `inject` with an already aborted signal throws an uncaught exception.
    if (signal.aborted) return await reply.code(204).send()
    const { prenotazione_id: booking } = request.query
    const last = request.headers['last-event-id']
    const response = await app.inject({
      url: `/api/v1/eventi${booking === undefined ? '' : `?prenotazione_id=${booking}`}`,
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${token}`,
        ...typeof last === 'string' && { 'last-event-id': last }
      },
      remoteAddress: request.ip,
      payloadAsStream: true,
      signal
    })
    // The browser must not read an error as a stream. Its script tries again later.
    if (response.statusCode !== 200) return await reply.code(204).send()
    destroyWhenStalled(reply.raw, STALLED_AFTER_MS)
    return await reply.type('text/event-stream; charset=utf-8')
      .headers({ 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
      .send(response.stream().pipe(unnamed()))
  })
}

/** Removes the names of the events, so that a page needs one listener for all of them. */
function unnamed (): Transform {
  return new Transform({
    transform (chunk: Buffer, _encoding, done) {
      done(null, chunk.toString().replaceAll(/^event: .*\n/gm, ''))
    }
  })
}

/** Marks a request that a script started, not a person. As JSON. */
const SCRIPT_HEADERS = JSON.stringify({ 'x-live': 'true' })

interface LivePart {
  id: string
  /** The page that has this part. */
  page: string
  /** Only changes of this booking reload the part. */
  booking?: number
  /** Also loads the part every few seconds, because no event reports the change. */
  isPolled?: boolean
}

/** A part of a page that is loaded again when something changes. Without scripts it stays as it is. */
export function livePart (
  { texts }: Pick<Desk, 'texts'>, { id, page, booking, isPolled = false }: LivePart, content: Html
): Html {
  const stream = booking === undefined ? STREAM : `${STREAM}?prenotazione_id=${booking}`
  const trigger = `novita throttle:1s${isPolled ? ', every 5s' : ''}`
  return html`<div class="foot" id="vecchio" role="status" hidden><span>${texts.stale}</span>${
    buttonLink(page, texts.reload)}</div>
<div id="${id}" data-live="${stream}" hx-get="${page}" hx-trigger="${trigger}" hx-select="#${
  id}" hx-swap="outerMorph" hx-headers="${SCRIPT_HEADERS}" hx-status:4xx="swap:none" hx-status:5xx="swap:none">
${content}</div>
`
}
