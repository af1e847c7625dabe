import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { createClock } from '#src/lib/time.ts'
import type { Database } from '#src/database/connect.ts'
import { policeService, type PoliceService } from './police-service.ts'
import type { Static } from '@sinclair/typebox'
import type { CheckResponse } from '#schemas/alloggiati.ts'
import { ConnessioneFallita } from '../errors.ts'
import { authenticate } from './calls.ts'
import { faultOf, FAULTS, type FaultKind } from './police-faults.ts'
import { SoapTransportError } from './soap/errors.ts'

/**
 * Checks the configured police service and its credentials. No guest data is sent.
 * @returns the URL of the service
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
export async function check (service: PoliceService | null): Promise<Static<typeof CheckResponse>> {
  if (service === null) {
    throw new ConnessioneFallita('CREDENZIALI_MANCANTI', 'Credenziali Alloggiati Web non configurate')
  }
  // The check must show the present state, so it does not use the cached token.
  service.token.invalidate()
  const { esito } = await authenticate(service, service.responseDeadline()).catch((err: unknown) => {
    const kind = faultOf(err)
    // Other errors come from this server.
    if (kind === undefined) throw err
    throw failed(kind, err instanceof SoapTransportError ? err.message : undefined)
  })
  if (!esito) {
    service.token.invalidate()
    throw failed('credentials')
  }
  return { connected: true, message: 'Connessione ad Alloggiati Web riuscita', endpoint: service.endpoint }
}

/** @param reason replaces the text of the failure when it is more exact */
function failed (kind: FaultKind, reason: string = FAULTS[kind].text): ConnessioneFallita {
  return new ConnessioneFallita(FAULTS[kind].code, reason)
}
