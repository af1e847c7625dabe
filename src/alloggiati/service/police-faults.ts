import type { ErrorCode } from '#schemas/errors/catalogue.ts'
import { ShapedError } from '#src/lib/errors.ts'
import { TabellaError } from '../tables/tabella.ts'
import type { EsitoOperazioneServizio } from './soap/contract.ts'
import { AlloggiatiCredentialsError, SoapTransportError } from './soap/errors.ts'

/* Maps failed calls to the service to the errors that clients receive. Test calls and Sends have other errors. */

/** Advice for refused credentials (guide, p. 28). */
export const NEW_WSKEY = 'Se la password è cambiata o scaduta, generare nel portale Alloggiati Web una nuova chiave ' +
  'WSKEY: la precedente non vale più. Poi aggiornare le impostazioni e riavviare il server'

interface Fault { status: 422 | 503, code: ErrorCode, text: string }

export const FAULTS = {
  credentials: {
    status: 503, code: 'CREDENZIALI_RIFIUTATE', text: `Il servizio ha rifiutato le credenziali. ${NEW_WSKEY}`
  },
  unreachable: {
    status: 503,
    code: 'SERVIZIO_NON_RAGGIUNGIBILE',
    text: 'Servizio Alloggiati Web non raggiungibile: riprovare più tardi'
  },
  // Never a 5xx, because clients retry after a 5xx.
  unknown: {
    status: 422,
    code: 'ESITO_SCONOSCIUTO',
    text: 'Nessuna risposta valida dal servizio: la richiesta può essere stata eseguita. Guardare l’elenco prima di ' +
      'ripeterla'
  },
  refused: { status: 422, code: 'APPARTAMENTO_RIFIUTATO', text: 'Il servizio ha rifiutato la richiesta' }
} as const satisfies Record<string, Fault>

export type FaultKind = keyof typeof FAULTS

/** The error that the client receives. A 422 needs `dettagli`, which the contract requires. */
export class PoliceFault extends ShapedError {
  constructor (kind: FaultKind, dettagli?: { codice_errore: string, messaggio_soap: string }) {
    const { code, status, text } = FAULTS[kind]
    super(code, status, text, dettagli === undefined ? {} : { dettagli })
  }
}

/**
 * The kind of a failed call. Undefined for an error that does not come from the call.
 * @param changes whether the call changes data of the service. Then the change may have happened even without a reply
 */
export function faultOf (err: unknown, changes = false): FaultKind | undefined {
  if (err instanceof AlloggiatiCredentialsError) return 'credentials'
  if (err instanceof SoapTransportError) return changes && err.sent ? 'unknown' : 'unreachable'
  return err instanceof TabellaError ? 'unreachable' : undefined
}

/** Error names with which the service refuses the caller of a Send before it reads the rows, so no guest was sent. */
export const ACCESS_REFUSED = /AUTENTICAZIONE|TOKEN|CREDENZIALI/

/** Terms in refusals of the caller, for all calls except a Send. A false match is harmless, as no guest is sent. */
const CALLER_REFUSED = /AUTENTICAZIONE|AUTENTICATO|TOKEN|CREDENZIALI|WSKEY|WS_KEY|CHIAVE_WEB|PASSWORD/i

/** Whether the reason of a refusal concerns the caller, and not the request. */
export function concernsCaller (reason: string): boolean {
  return CALLER_REFUSED.test(reason)
}

/** Whether a reply refuses the caller, and not the request. */
export function refusesCaller ({ esito, ErroreDes }: EsitoOperazioneServizio): boolean {
  return !esito && concernsCaller(ErroreDes)
}

/** Runs a call to the service. @throws PoliceFault when the call fails, and any other error unchanged */
export async function orFault<T> (work: () => Promise<T>, changes = false): Promise<T> {
  try {
    return await work()
  } catch (err) {
    const kind = faultOf(err, changes)
    if (kind === undefined) throw err
    if (kind !== 'unknown' || !(err instanceof SoapTransportError)) throw new PoliceFault(kind)
    throw new PoliceFault(kind, { codice_errore: FAULTS.unknown.code, messaggio_soap: err.userText })
  }
}
