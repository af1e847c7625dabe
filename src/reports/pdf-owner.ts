import type { FastifyInstance, FastifyRequest } from 'fastify'
import { NonAutorizzato } from '#src/lib/errors.ts'

type App = Pick<FastifyInstance, 'identity'>

/** The person whose PDFs a caller may see. Undefined means all, for the server's key and administrators. */
export async function visibleTo ({ identity }: App, request: FastifyRequest): Promise<string | undefined> {
  const principal = request.principal!
  const seesAll = principal.kind === 'server' || await identity.authenticator.isAdmin(principal, request)
  return seesAll ? undefined : principal.userId ?? ''
}

/**
 * @param utente the owner of a PDF, or null
 * @throws NonAutorizzato (403) when the caller may not see it
 */
export async function checkVisible (app: App, request: FastifyRequest, utente: string | null): Promise<void> {
  // Most callers request their own PDFs, which needs no query.
  if (utente !== null && utente === request.principal!.userId) return
  if (await visibleTo(app, request) !== undefined) throw new NonAutorizzato()
}

/**
 * The owner of a new PDF: the named person, else the caller. Null for a machine.
 * @throws NonAutorizzato (403) when the caller may not see the PDFs of the named person
 */
export async function ownerOf (
  app: App, request: FastifyRequest, named: string | undefined
): Promise<string | null> {
  const own = request.principal!.userId ?? null
  if (named === undefined || named === own) return own
  await checkVisible(app, request, named)
  return named
}
