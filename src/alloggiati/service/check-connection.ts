import type { Static } from '@sinclair/typebox'
import type { CheckResponse } from '#schemas/alloggiati.ts'
import { ConnessioneFallita } from '../errors.ts'
import { authenticate } from './calls.ts'
import { faultOf, FAULTS, type FaultKind } from './police-faults.ts'
import type { PoliceService } from './police-service.ts'
import { SoapTransportError } from './soap/errors.ts'

/**
 * Checks that the service is reachable and accepts the credentials.
 * @throws ConnessioneFallita
 */
export async function checkConnection (service: PoliceService | null): Promise<Static<typeof CheckResponse>> {
  if (service === null) {
    throw new ConnessioneFallita('CREDENZIALI_MANCANTI', 'Credenziali Alloggiati Web non configurate')
  }
  // The check must show the present state, so it does not use the cached token.
  service.token.invalidate()
  const { esito } = await authenticate(service, service.responseDeadline()).catch((err: unknown) => {
    const kind = faultOf(err)
    // Other errors come from this server.
    if (kind === undefined) throw err
    throw connectionError(kind, err instanceof SoapTransportError ? err.message : undefined)
  })
  if (!esito) {
    service.token.invalidate()
    throw connectionError('credentials')
  }
  return { connected: true, message: 'Connessione ad Alloggiati Web riuscita', endpoint: service.endpoint }
}

/** @param reason the text of the error, by default the text of its kind */
function connectionError (kind: FaultKind, reason: string = FAULTS[kind].text): ConnessioneFallita {
  return new ConnessioneFallita(FAULTS[kind].code, reason)
}
