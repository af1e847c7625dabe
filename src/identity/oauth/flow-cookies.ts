import type { FastifyReply, FastifyRequest } from 'fastify'
import { onlyValue } from '#src/lib/cookie-header.ts'
import { secretComparer } from '#src/lib/secrets.ts'

/** Longer than a flow: a browser that comes back too late is told so. */
const SECONDS = 900

/**
 * Bind a flow to the browser that has begun it: each flow has a cookie of its own, so that several go on at once. It is
 * good once, for the callback alone. That of `sign-in/browser.ts` is another one, good for a day on all paths.
 */
export interface FlowCookies {
  set (reply: FastifyReply, flowId: string, value: string): void
  /** Whether the request brings the cookie of this flow, which it needs no more. */
  take (request: FastifyRequest, reply: FastifyReply, flowId: string, value: string): boolean
}

/** @param callback the address that providers send browsers back to: no other request gets the cookies */
export function flowCookies (callback: string): FlowCookies {
  const { pathname, protocol } = new URL(callback)
  // Lax: the browser comes back from another site.
  const attributes = { path: pathname, httpOnly: true, sameSite: 'lax', secure: protocol === 'https:' } as const
  const nameOf = (flowId: string) => `locanda_oauth_${flowId}`

  return {
    set (reply, flowId, value) {
      reply.setCookie(nameOf(flowId), value, { ...attributes, maxAge: SECONDS })
    },
    take (request, reply, flowId, value) {
      reply.clearCookie(nameOf(flowId), attributes)
      return secretComparer(value)(onlyValue(request.headers.cookie ?? '', nameOf(flowId)))
    }
  }
}
