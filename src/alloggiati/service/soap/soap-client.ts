import { decodeAnswer, MalformedAnswer, OPERATIONS } from './decode-answer.ts'
import type { Answers, Operation, Requests } from './contract.ts'
import { invoke, LibraryError, type SoapVersion, encodeRequest } from './library.ts'
import { malformedReply, readReply } from './soap-reply.ts'
import { httpClient, type CallOptions, type TransportOptions } from './soap-transport.ts'

export interface SoapClientOptions extends Pick<TransportOptions, 'ca'> {
  /** https, or http on a loopback address. */
  endpoint: string
  soapVersion?: SoapVersion
  timeoutMs?: number
  connectTimeoutMs?: number
  maxBytes?: number
}

export interface Reply<Answer> { result: Answer, raw: string, httpStatus: number }

/**
 * The 12 operations. A call is made once and never repeated; it rejects with a SoapTransportError, whose `sent` says
 * whether the service may have seen it, or with its subclass SoapFault. A call that resolves may still hold `esito:
 * false`.
 */
export type SoapClient = {
  [Name in Operation]: (request: Requests[Name], options?: CallOptions) => Promise<Reply<Answers[Name]>>
}

/**
 * A client of the police service at `endpoint`. Nothing is loaded or opened before the first call.
 * @throws UnsafeAddress
 */
export function soapClient ({
  endpoint, ca, soapVersion = '1.2', timeoutMs = 60_000, connectTimeoutMs = 10_000, maxBytes = 20 * 1024 * 1024
}: SoapClientOptions): SoapClient {
  const post = httpClient({ endpoint, ca, timeoutMs, connectTimeoutMs, maxBytes })

  async function call<Name extends Operation> (
    operation: Name, request: Requests[Name], options: CallOptions = {}
  ): Promise<Reply<Answers[Name]>> {
    let raw = ''
    const exchange = async (envelope: string, headers: Record<string, string>) => {
      raw = readReply(await post(envelope, withAction(headers, operation), options), operation)
      return raw
    }
    try {
      const result = decodeAnswer(operation, await invoke(soapVersion, operation, encodeRequest(request), exchange))
      return { result, raw, httpStatus: 200 }
    } catch (error) {
      if (error instanceof MalformedAnswer || error instanceof LibraryError) {
        throw malformedReply(raw, error.message || undefined)
      }
      throw error
    }
  }

  const methods = OPERATIONS.map((name) =>
    [name, (request: Requests[typeof name], options?: CallOptions) => call(name, request, options)])
  return Object.fromEntries(methods) as SoapClient
}

/**
 * SOAP 1.2 says the action in the media type (RFC 3902); strong-soap leaves it out. SOAP 1.1 has its own header,
 * already there.
 */
function withAction (headers: Record<string, string>, operation: Operation): Record<string, string> {
  return 'SOAPAction' in headers
    ? headers
    : { ...headers, 'Content-Type': `${headers['Content-Type']}; action="AlloggiatiService/${operation}"` }
}
