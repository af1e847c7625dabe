import type { IncomingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import { serve } from '#test/loopback.ts'

/** A request that the provider received. */
export interface Received { method: string, path: string, headers: IncomingHttpHeaders, body: Buffer }

/** The provider's reaction to the next request: a response or silence. */
export type Behaviour = { status: number, body: unknown, location?: string } | 'silence'

/** A fake provider on loopback, which records its requests. */
export async function providerServer (t: Test) {
  const received: Received[] = []
  let next: Behaviour = 'silence'
  const { url } = await serve(t, (request, reply) => {
    void buffer(request).then((body) => {
      received.push({ method: request.method!, path: request.url!, headers: request.headers, body })
      if (next === 'silence') return
      const text = typeof next.body === 'string' ? next.body : JSON.stringify(next.body)
      const { status, location } = next
      reply.writeHead(status, { 'content-type': 'application/json', ...location && { location } })
      reply.end(text)
    })
  })
  return { url: `${url}/lettura`, received, behave: (behaviour: Behaviour) => { next = behaviour } }
}

/** Responses in Google's format (`images:annotate`). */
export const google = {
  text: (text: string) => ({
    status: 200,
    body: {
      responses: [{ textAnnotations: [{ locale: 'it', description: text }], fullTextAnnotation: { pages: [], text } }]
    }
  }),
  nothing: { status: 200, body: { responses: [{}] } },
  ofPicture: (code: number) => (
    { status: 200, body: { responses: [{ error: { code, message: 'Bad image data.' } }] } }),
  refusal: (status: number, reason: string) => ({
    status, body: { error: { code: status, message: 'no', details: [{ '@type': 'ErrorInfo', reason }] } }
  })
}

/** Responses in OCR.space's format (`parse/image`). */
export const space = {
  text: (text: string) => ({
    status: 200,
    body: {
      ParsedResults: [{ FileParseExitCode: 1, ParsedText: text.replaceAll('\n', '\r\n'), ErrorMessage: '' }],
      OCRExitCode: 1,
      IsErroredOnProcessing: false
    }
  }),
  error: (status: number, ...messages: string[]) => ({
    status, body: { OCRExitCode: 3, IsErroredOnProcessing: true, ErrorMessage: messages }
  })
}
