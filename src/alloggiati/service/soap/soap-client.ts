import { decodeResponse, OPERATIONS, readReply } from './decode-response.ts'
import type { Responses, Operation, Requests } from './contract.ts'
import { writeRequest } from './soap-request.ts'
import { httpClient, type CallOptions, type TransportOptions } from './soap-transport.ts'
import { SERVICE } from './xml.ts'

export interface SoapClientOptions extends Pick<TransportOptions, 'ca'> {
  /** An https URL, or http on a loopback address. */
  endpoint: string
  timeoutMs?: number
  connectTimeoutMs?: number
  /** Masked in the error texts of decoded replies, like the request's token, because the service may repeat them. */
  secrets?: readonly string[]
}

export interface Reply<Result> { result: Result, raw: string, httpStatus: number }

/**
 * The operations. A call is never retried. A failed call rejects with a SoapTransportError, whose `sent` says whether
 * the service may have received the call. A call that resolves may still have `esito: false`.
 */
export type SoapClient = {
  [Name in Operation]: (request: Requests[Name], options?: CallOptions) => Promise<Reply<Responses[Name]>>
}

/**
 * Creates a client of the police service at `endpoint`. Opens no connection before the first call.
 * @throws UnsafeAddress
 */
export function soapClient (
  { endpoint, ca, timeoutMs = 60_000, connectTimeoutMs = 10_000, secrets = [] }: SoapClientOptions
): SoapClient {
  const post = httpClient({ endpoint, ca, timeoutMs, connectTimeoutMs })

  async function call<Name extends Operation> (
    operation: Name, request: Requests[Name], options: CallOptions = {}
  ): Promise<Reply<Responses[Name]>> {
    const envelope = await writeRequest(operation, request)
    // SOAP 1.2 requires the action in the media type (RFC 3902).
    const headers = { 'Content-Type': `application/soap+xml; charset=utf-8; action="${SERVICE}/${operation}"` }
    const { raw, response } = readReply(await post(envelope, headers, options), operation)
    const result = decodeResponse(operation, response, raw)
    const hidden = 'token' in request ? [...secrets, request.token] : secrets
    return { result: withoutSecrets(result, hidden.filter((secret) => secret !== '')), raw, httpStatus: 200 }
  }

  const methods = OPERATIONS.map((name) =>
    [name, (request: Requests[typeof name], options?: CallOptions) => call(name, request, options)])
  return Object.fromEntries(methods) as SoapClient
}

/** Masks the secrets in all texts whose names begin with `Errore`, at any depth. */
function withoutSecrets<T> (answer: T, secrets: readonly string[]): T {
  const clean = (name: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((each) => clean(name, each))
    if (typeof value === 'string' && name.startsWith('Errore')) {
      return secrets.reduce((text, secret) => text.replaceAll(secret, '***'), value)
    }
    const isPlain = value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype
    return isPlain ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, clean(key, each)])) : value
  }
  return clean('', answer) as T
}
