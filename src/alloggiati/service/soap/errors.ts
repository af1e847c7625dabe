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

/** Translates the kind of a failure into Italian. Returns any other text, such as the service's own, unchanged. */
export function failureText (text: string): string {
  return Object.hasOwn(KINDS, text) ? KINDS[text as FailureKind] : text
}

/** Whether a text is the kind of a failure. Any other text comes from the service, and may repeat data of the call. */
export function isFailureKind (text: string): boolean {
  return Object.hasOwn(KINDS, text)
}

interface FailureDetails {
  /** False only if certainly no byte of the request was written. */
  sent: boolean
  httpStatus?: number
  /** Details: an error code of Node or OpenSSL, or a fixed text. Never data of the call. */
  reason?: string
  raw?: string
  cause?: unknown
}

/**
 * A call without a usable reply. If `sent` is true, the service may have executed it. `raw` is not an own property, so
 * no logger or inspector prints the reply.
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

  /** The kind in Italian. */
  get userText (): string {
    return KINDS[this.kind]
  }

  /** The body of the reply, if any. Stored as evidence, never logged. */
  get raw (): string | undefined {
    return this.#raw
  }
}

/** The service refused the caller. Its text may repeat credentials, so the logged message omits it. */
export class AlloggiatiCredentialsError extends Error {
  readonly #text: string

  constructor (codice: string, descrizione: string) {
    super(`Credenziali Alloggiati Web rifiutate${ownCode(codice)}`)
    this.name = 'AlloggiatiCredentialsError'
    this.#text = `Credenziali Alloggiati Web rifiutate (${codice}): ${descrizione}`
  }

  /** The message with the service's text, for the response and the ledger. */
  get userText (): string {
    return this.#text
  }
}

/** The service's error code in parentheses, for a message. Empty unless the code is a number of up to 5 digits. */
export function ownCode (codice: string): string {
  return /^\d{1,5}$/.test(codice) ? ` (${codice})` : ''
}

/** Whether the service is unavailable: unreachable, or refusing the credentials. */
export function isServiceFailure (err: unknown): boolean {
  return err instanceof SoapTransportError || err instanceof AlloggiatiCredentialsError
}
