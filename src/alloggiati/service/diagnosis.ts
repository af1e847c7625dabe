import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { createClock } from '#src/lib/time.ts'
import type { Database } from '#src/database/connect.ts'
import { policeService, type PoliceService } from './police-service.ts'
import type { Static } from '@sinclair/typebox'
import type { CheckAnswer } from '#schemas/alloggiati.ts'
import { ConnessioneFallita } from '../errors.ts'
import { authenticate } from './calls.ts'
import { AlloggiatiCredentialsError } from './soap/errors.ts'

/**
 * Checks the configured police service and its credentials. No guest data is sent.
 * @returns the address asked
 * @throws ConnessioneFallita
 */
export async function checkPolice (
  parts: { config: Config, keys: Keys, db: Database, log: FastifyBaseLogger }
): Promise<string> {
  const { service, close } = await policeService({ ...parts, clock: createClock(parts.config.TODAY) })
  try {
    return (await check(service)).endpoint
  } finally {
    await close()
  }
}

/**
 * Checks that the service is reachable and accepts the credentials.
 * @throws ConnessioneFallita
 */
export async function check (service: PoliceService | null): Promise<Static<typeof CheckAnswer>> {
  if (service === null) {
    throw new ConnessioneFallita('CREDENZIALI_MANCANTI', 'Credenziali Alloggiati Web non configurate')
  }
  // The check must reflect the present state, so cached tokens and refusals are dropped.
  service.token.invalidate()
  const { esito, ErroreDes } = await authenticate(service, service.answerDeadline()).catch((err: Error) => {
    const refused = err instanceof AlloggiatiCredentialsError
    throw new ConnessioneFallita(refused ? 'CREDENZIALI_RIFIUTATE' : 'SERVIZIO_NON_RAGGIUNGIBILE', err.message)
  })
  if (!esito) {
    service.token.invalidate()
    throw new ConnessioneFallita('CREDENZIALI_RIFIUTATE', `Il servizio ha rifiutato l'accesso: ${ErroreDes}`)
  }
  return { connected: true, message: 'Connessione ad Alloggiati Web riuscita', endpoint: service.endpoint }
}
