import { API_KEY } from '#test/helper.ts'
import type { Disturbances } from './disturbances.ts'

/** What the clients got so far. */
export interface Answers {
  /** By the first digit of the status, and `none`: the connection ended before. */
  classes: Record<string, number>
  /** Without an answer, or with a 503, while a fault excused it. */
  excused: number
  /** What no client should have seen, by request and answer. */
  surprises: Map<string, number>
}

export interface Asked {
  body?: object
  headers?: Record<string, string>
  /** Any other status is a surprise. */
  expected?: readonly number[]
  /** The caller leaves after so many milliseconds, whatever comes. */
  leaveAfterMs?: number
}

export interface Answer { status: number, headers: Headers, bytes: Buffer, json<T> (): T }

/** Asks the server that runs at present, and keeps count. */
export interface Caller {
  answers: Answers
  /** Undefined: no server ran, it died before it answered, or the answer was not one of those expected. */
  ask (method: string, path: string, asked?: Asked): Promise<Answer | undefined>
  /** Counts an answer that was got in another way. */
  count (name: string, status: number | undefined, since: number, expected?: readonly number[]): boolean
  surprise (what: string): void
}

/** A server answers within this time, or not at all. */
const ANSWER_MS = 90_000

export function createCaller (
  address: () => string | undefined,
  { now, excuse }: Pick<Disturbances, 'now' | 'excuse'>
): Caller {
  const answers: Answers = { classes: {}, excused: 0, surprises: new Map() }

  function surprise (what: string): void {
    answers.surprises.set(what, (answers.surprises.get(what) ?? 0) + 1)
  }

  function count (name: string, status: number | undefined, since: number, expected: readonly number[] = [200]) {
    const group = status === undefined ? 'none' : `${String(status)[0]}xx`
    answers.classes[group] = (answers.classes[group] ?? 0) + 1
    if (status !== undefined && expected.includes(status)) return true
    if ((status === undefined || status === 503) && excuse(since)) answers.excused++
    else surprise(`${name}: ${status ?? 'no answer'}`)
    return false
  }

  async function ask (method: string, path: string, asked: Asked = {}): Promise<Answer | undefined> {
    const base = address()
    if (base === undefined) return undefined
    const { body, headers, expected, leaveAfterMs } = asked
    const since = now()
    try {
      const answer = await fetch(base + path, {
        method,
        headers: {
          ...headers?.authorization === undefined ? { 'x-api-key': API_KEY } : {},
          ...body === undefined ? {} : { 'content-type': 'application/json' },
          ...headers
        },
        signal: AbortSignal.timeout(leaveAfterMs ?? ANSWER_MS),
        ...body === undefined ? {} : { body: JSON.stringify(body) }
      })
      const bytes = Buffer.from(await answer.arrayBuffer())
      if (!count(nameOf(method, path), answer.status, since, expected)) return undefined
      const { status, headers: got } = answer
      return { status, headers: got, bytes, json: <T>() => JSON.parse(bytes.toString()) as T }
    } catch {
      if (leaveAfterMs === undefined) count(nameOf(method, path), undefined, since)
      return undefined
    }
  }

  return { answers, ask, count, surprise }
}

/** Without what differs from one request to the next. */
function nameOf (method: string, path: string): string {
  return `${method} ${path.replace(/\?.*/, '').replaceAll(/[0-9a-f-]{36}|(?<=\/)\d+/g, ':id')}`
}
