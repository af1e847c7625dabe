const KINDS = {
  'invalid-request': 'la richiesta contiene un valore non ammesso',
  'before-write': 'invio annullato prima di trasmettere',
  dns: 'nome del servizio non trovato',
  refused: 'connessione rifiutata',
  unreachable: 'servizio non raggiungibile',
  'connect-timeout': 'connessione non riuscita in tempo',
  tls: 'connessione sicura non riuscita',
  aborted: 'chiamata interrotta',
  timeout: 'nessuna risposta completa in tempo',
  reset: 'connessione interrotta',
  'http-status': 'risposta HTTP inattesa',
  redirect: 'il servizio rimanda a un altro indirizzo',
  'too-large': 'risposta troppo grande',
  malformed: 'risposta non riconosciuta',
  fault: 'errore SOAP'
} as const

export type FailureKind = keyof typeof KINDS

interface FailureDetails {
  /** False only when it is certain that not one byte of the request was written. */
  sent: boolean
  httpStatus?: number
  /** What went wrong more exactly: an error code of Node or OpenSSL, or a fixed text. Never data of the call. */
  reason?: string
  raw?: string
  cause?: unknown
}

/**
 * A call without a usable answer. When `sent` is true the service may have carried it out.
 * The reply is reachable through `raw` but is no property of the object, so no logger or inspector prints it.
 */
export class SoapTransportError extends Error {
  readonly kind: FailureKind
  readonly sent: boolean
  readonly httpStatus: number | undefined
  readonly reason: string | undefined
  readonly #raw: string | undefined

  constructor (kind: FailureKind, { sent, httpStatus, reason, raw, cause }: FailureDetails) {
    const details = [httpStatus === undefined ? undefined : `HTTP ${httpStatus}`, reason].filter(
      (detail) => detail !== undefined)
    super(
      `Alloggiati Web: ${KINDS[kind]}${details.length > 0 ? ` (${details.join(', ')})` : ''}`,
      cause === undefined ? undefined : { cause }
    )
    this.name = 'SoapTransportError'
    this.kind = kind
    this.sent = sent
    this.httpStatus = httpStatus
    this.reason = reason
    this.#raw = raw
  }

  /** The body of the reply, where there was one: evidence to be stored, not to be logged. */
  get raw (): string | undefined {
    return this.#raw
  }
}

export class AlloggiatiCredentialsError extends Error {
  constructor (codice: string, descrizione: string) {
    super(`Credenziali Alloggiati Web rifiutate (${codice}): ${descrizione}`)
    this.name = 'AlloggiatiCredentialsError'
  }
}

/** The service cannot be asked: it is not reached, or does not let us in. */
export function isServiceFailure (err: unknown): boolean {
  return err instanceof SoapTransportError || err instanceof AlloggiatiCredentialsError
}
