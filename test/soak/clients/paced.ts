import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerProcess } from '#test/running-server.ts'
import type { Caller } from '../caller.ts'

/** Allowed statuses of a submission. */
const EXPECTED = [200, 201, 202, 409, 422]

/** Wraps a server so that the crash test's clients wait at least `everyMs` between requests. */
export function paced (everyMs: number, { count }: Pick<Caller, 'count'>, now: () => number) {
  let next = 0
  return (server: ServerProcess): ServerProcess => ({
    ...server,
    async post (path, body, headers) {
      const at = Math.max(next, now())
      next = at + everyMs
      await sleep(Math.max(at - now(), 0))
      const since = now()
      const response = await server.post(path, body, headers).catch(() => undefined)
      count(`POST ${path.replaceAll(/\d+(?=\/)/g, ':id')}`, response?.status, since, EXPECTED)
      if (!response) throw new Error('the server died before it answered')
      return response
    }
  })
}
