import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Test } from 'tap'
import { serve } from '#test/loopback.ts'

/** A received request. */
export interface ReceivedRequest { method: string, path: string, headers: IncomingMessage['headers'], body: Buffer }

type Handler = (seen: ReceivedRequest, response: ServerResponse) => void

/** A minimal PDF from an external engine: just the header. */
export const FOREIGN_PDF = Buffer.from('%PDF-1.7\n% made elsewhere\n')
export const REFERENCE = 'fb83d2b4-5fcd-4a3a-8b2c-0a6e3c1f4d10'

/** Starts a fake engine on loopback, which records the received requests. */
export async function standIn (t: Test) {
  const seen: ReceivedRequest[] = []
  const state: { handle: Handler } = { handle: (_seen, response) => { response.writeHead(500).end() } }
  const { url } = await serve(t, (request, response) => {
    void request.toArray().then((pieces: Buffer[]) => {
      const { method = '', url = '', headers } = request
      const one = { method, path: url, headers, body: Buffer.concat(pieces) }
      seen.push(one)
      state.handle(one, response)
    })
  })
  return { url, seen, state }
}

export function json (response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** Behaves like APITemplate.io: creates, serves and deletes a PDF. */
export function apitemplateAt (base: string): Handler {
  return ({ path }, response) => {
    if (path.startsWith('/v2/create-pdf-from-html')) {
      return json(response, {
        status: 'success',
        download_url: `${base}/2026/11/file.pdf`,
        template_id: '',
        total_pages: 1,
        transaction_ref: REFERENCE,
        post_actions: []
      })
    }
    if (path !== '/2026/11/file.pdf') return json(response, { status: 'success' })
    response.writeHead(200, { 'content-type': 'application/pdf' }).end(FOREIGN_PDF)
  }
}
