import { API_KEY } from '#test/helper.ts'
import type { Disturbances } from './disturbances.ts'

/** The responses that clients received so far. */
export interface ResponseCounts {
  /** Counts by class of status. `none` means that the connection ended before a response. */
  classes: Record<string, number>
  /** Missing responses and 503s that a fault explains. */
  excused: number
  /** Unexpected responses, counted by request and status. */
  surprises: Map<string, number>
}

export interface Asked {
  body?: object
  headers?: Record<string, string>
  /** The expected statuses. Any other status is counted as unexpected. */
  expected?: readonly number[]
  /** The client disconnects after this time. */
  leaveAfterMs?: number
}

export interface CallResponse { status: number, headers: Headers, bytes: Buffer, json<T> (): T }

/** Sends requests to the current server and counts the responses. */
export interface Caller {
  responses: ResponseCounts
  /** Undefined when no server ran, the server ended before it responded, or the response was unexpected. */
  ask (method: string, path: string, asked?: Asked): Promise<CallResponse | undefined>
  /** Counts a response received by other code. */
  count (name: string, status: number | undefined, since: number, expected?: readonly number[]): boolean
  surprise (what: string): void
}

/** Timeout of a request. */
const RESPONSE_MS = 90_000

export function createCaller (
  address: () => string | undefined,
  { now, excuse }: Pick<Disturbances, 'now' | 'excuse'>
): Caller {
  const responses: ResponseCounts = { classes: {}, excused: 0, surprises: new Map() }

  function surprise (what: string): void {
    responses.surprises.set(what, (responses.surprises.get(what) ?? 0) + 1)
  }

  function count (name: string, status: number | undefined, since: number, expected: readonly number[] = [200]) {
    const group = status === undefined ? 'none' : `${String(status)[0]}xx`
    responses.classes[group] = (responses.classes[group] ?? 0) + 1
    if (status !== undefined && expected.includes(status)) return true
    if ((status === undefined || status === 503) && excuse(since)) responses.excused++
    else surprise(`${name}: ${status ?? 'no answer'}`)
    return false
  }

  async function ask (method: string, path: string, asked: Asked = {}): Promise<CallResponse | undefined> {
    const base = address()
    if (base === undefined) return undefined
    const { body, headers, expected, leaveAfterMs } = asked
    const since = now()
    try {
      const response = await fetch(base + path, {
        method,
        headers: {
          ...headers?.authorization === undefined ? { 'x-api-key': API_KEY } : {},
          ...body === undefined ? {} : { 'content-type': 'application/json' },
          ...headers
        },
        signal: AbortSignal.timeout(leaveAfterMs ?? RESPONSE_MS),
        ...body === undefined ? {} : { body: JSON.stringify(body) }
      })
      const bytes = Buffer.from(await response.arrayBuffer())
      if (!count(nameOf(method, path), response.status, since, expected)) return undefined
      const { status, headers: got } = response
      return { status, headers: got, bytes, json: <T>() => JSON.parse(bytes.toString()) as T }
    } catch {
      if (leaveAfterMs === undefined) count(nameOf(method, path), undefined, since)
      return undefined
    }
  }

  return { responses, ask, count, surprise }
}

/** The request without query and ids, for counting. */
function nameOf (method: string, path: string): string {
  return `${method} ${path.replace(/\?.*/, '').replaceAll(/[0-9a-f-]{36}|(?<=\/)\d+/g, ':id')}`
}
