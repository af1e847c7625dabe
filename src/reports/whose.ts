import type { FastifyInstance, FastifyRequest } from 'fastify'
import { NonAutorizzato } from '#src/lib/errors.ts'

type App = Pick<FastifyInstance, 'identity'>

/**
 * Whose PDFs a caller sees: a person's own; undefined for everybody's, which the server's key and administrators see.
 */
export async function visibleTo ({ identity }: App, request: FastifyRequest): Promise<string | undefined> {
  const principal = request.principal!
  const seesAll = principal.kind === 'server' || await identity.authenticator.isAdmin(principal, request)
  return seesAll ? undefined : principal.userId ?? ''
}

/**
 * @param utente whose a PDF is; null: nobody's
 * @throws NonAutorizzato (403) where the caller may not see it
 */
export async function checkVisible (app: App, request: FastifyRequest, utente: string | null): Promise<void> {
  // Most callers ask for what is theirs: nobody need look up their rights.
  if (utente !== null && utente === request.principal!.userId) return
  if (await visibleTo(app, request) !== undefined) throw new NonAutorizzato()
}

/**
 * For whom a PDF is made: for the person who is named, else for the caller; null for a machine.
 * @throws NonAutorizzato (403) where a person names another one
 */
export async function ownerOf (
  app: App, request: FastifyRequest, named: string | undefined
): Promise<string | null> {
  const own = request.principal!.userId ?? null
  if (named === undefined || named === own) return own
  await checkVisible(app, request, named)
  return named
}
