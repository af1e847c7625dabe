import type { FastifyError, FastifyPluginAsync, FastifyRequest } from 'fastify'
import { prefers } from '#src/lib/accept.ts'
import { renderError } from '#src/http/errors.ts'
import { showError } from './refusals.ts'

/**
 * Addresses below `/auth` that lead nowhere: a person sees a page in their language, a program the error that it gets
 * everywhere. `/auth` without the slash leads a person to where all begins.
 */
const unknownPages: FastifyPluginAsync = async (app) => {
  app.setErrorHandler<FastifyError>((err, request, reply) => {
    if (!wantsPage(request)) return renderError(err, request, reply)
    return showError(err, request, reply).header('vary', 'accept, accept-language')
  })
  app.setNotFoundHandler((request, reply) => {
    const [path] = request.url.split('?', 1)
    return path === app.prefix && wantsPage(request)
      ? reply.redirect(`${app.prefix}/`, 303)
      : app.refuseUnknown(request, reply)
  })
}
export default unknownPages

function wantsPage ({ method, headers: { accept } }: FastifyRequest): boolean {
  return ['GET', 'HEAD'].includes(method) && prefers(accept, 'text/html', 'application/json')
}
