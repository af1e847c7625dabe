import type { Static } from '@sinclair/typebox'
import type { CheckAnswer } from '#schemas/alloggiati.ts'
import { ConnessioneFallita } from '../errors.ts'
import { authenticate } from './calls.ts'
import type { PoliceService } from './police-service.ts'
import { AlloggiatiCredentialsError } from './soap/errors.ts'

/**
 * Whether the service can be reached and takes the credentials.
 * @throws ConnessioneFallita
 */
export async function check (service: PoliceService | null): Promise<Static<typeof CheckAnswer>> {
  if (service === null) {
    throw new ConnessioneFallita('CREDENZIALI_MANCANTI', 'Credenziali Alloggiati Web non configurate')
  }
  // A person looks whether it works now: neither a token nor a refusal of before says so.
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
