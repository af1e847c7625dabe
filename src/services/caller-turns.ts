import type { FastifyRequest } from 'fastify'
import { network } from '#src/lib/addresses.ts'
import { limitTurns, type TurnLimits } from '#src/lib/turns.ts'

/**
 * Takes a turn for the caller of a request, or several at once.
 * @throws ServizioOccupato
 */
export type TakeCallersTurn = (request: FastifyRequest, count?: number) => () => void

/** Turns by caller. Who has no credentials counts by network, and takes none of those who have. */
export function limitCallers (limits: TurnLimits): TakeCallersTurn {
  const known = limitTurns(limits)
  const strangers = limitTurns(limits)
  return ({ principal, ip }, count) => principal ? known(principal.id, count) : strangers(network(ip), count)
}
