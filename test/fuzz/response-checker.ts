import type { IncomingHttpHeaders } from 'node:http'
import type { ValidateFunction } from 'ajv'
import { validators, type Document, type Operation } from './document.ts'
import type { FuzzedRequest } from './requests.ts'

export interface ApiResponse {
  /** 0 when there was no response. */
  status: number
  headers: IncomingHttpHeaders
  body: string
}

/** @returns the violation in a response. Undefined when the response is correct */
export type CheckResponse = (request: FuzzedRequest, response: ApiResponse) => string | undefined

/** Internal details that responses must not reveal. */
const INSIDE = /Failed query|drizzle|node_modules|\.ts:\d|TypeError|RangeError|\bat \w+ \(/

/** The response while another request has started maintenance, which ends soon. */
const MAINTENANCE = /"(?:error|msg|message)":"Servizio in manutenzione/

/**
 * A response must have a declared status, type and body, and all required headers. It has no undeclared header of the
 * product. A 5xx is allowed only with an error code that the operation declares.
 */
export function responseChecker (document: Document): CheckResponse {
  const compiled = validators(document)
  const { headers: named } = document.components
  const isPromised = (header: { $ref?: string, required?: boolean }) =>
    (header.$ref === undefined ? header : named[header.$ref.split('/').at(-1)!])?.required === true

  return ({ operation: { method, path, operation } }, response) => {
    const { status, body } = response
    if (status === 0) return `no response (${body})`
    const declared = [String(status), `${Math.floor(status / 100)}XX`].find((each) => each in operation.responses)
    if (declared === undefined) return `status ${status} is not declared`
    if (status >= 500 && !isNamed(operation, response)) return `status ${status}: ${body}`
    if (status >= 400 && INSIDE.test(body)) return `the response leaks internal details: ${body}`
    const own = Object.keys(document.components.headers)
    const declaredHeaders = Object.keys(operation.responses[declared]!.headers ?? {})
    const undeclared = own.filter((name) => name.toLowerCase() in response.headers && !declaredHeaders.includes(name))
    if (undeclared.length > 0) return `status ${status} has the undeclared headers ${undeclared.join(', ')}`
    const promised = declaredHeaders.filter((name) => isPromised(operation.responses[declared]!.headers![name]!))
    const missing = promised.filter((name) => !(name.toLowerCase() in response.headers))
    if (missing.length > 0) return `status ${status} lacks the headers ${missing.join(', ')}, which are promised`
    const fault = faultOfBody(response, Object.keys(operation.responses[declared]!.content ?? {}), (type) =>
      compiled('paths', path, method.toLowerCase(), 'responses', declared, 'content', type, 'schema'))
    return fault && `status ${status} ${fault}`
  }
}

/**
 * True for a 5xx with an error code of the operation. Every operation declares a 500 to describe its body, but a 500 is
 * always a defect.
 */
function isNamed ({ 'x-codici': codes = {} }: Operation, { status, body }: ApiResponse): boolean {
  if (status === 500) return false
  if (status === 503 && MAINTENANCE.test(body)) return true
  const code = /"codice":"(\w+)"/.exec(body)?.[1]
  return code !== undefined && codes[status]?.includes(code) === true
}

/** @param types the declared media types */
function faultOfBody (
  { status, headers, body }: ApiResponse, types: readonly string[], validator: (type: string) => ValidateFunction
): string | undefined {
  if (status === 304 || types.length === 0) return body === '' ? undefined : `has a body: ${body.slice(0, 200)}`
  const type = String(headers['content-type']).split(';')[0]!.trim()
  if (types.includes('*/*')) return undefined
  if (!types.includes(type)) return `has the type ${type}`
  if (type !== 'application/json') return undefined
  const validate = validator(type)
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch {
    return `is no JSON: ${body.slice(0, 200)}`
  }
  if (validate(parsed)) return undefined
  const [first] = validate.errors ?? []
  return `has another body: ${first?.instancePath} ${first?.message} ${body.slice(0, 300)}`
}
