import { API_KEY } from '#test/helper.ts'
import type { Scenario } from '../scenario.ts'
import { startTarget } from '../target.ts'

const DEEP = [10, 100, 1000, 10_000, 100_000]

/** Sends deeply nested bodies, which overflow a recursive parser, with an Idempotency-Key. */
export const bodies: Scenario = {
  name: 'deep bodies with an Idempotency-Key',
  async run () {
    const target = await startTarget()
    try {
      const statuses: number[] = []
      for (const depth of DEEP) {
        for (const [open, close] of [['[', ']'], ['{"a":', '}']] as const) {
          const response = await fetch(`${target.address}/api/v1/prenotazioni`, {
            method: 'POST',
            headers: {
              'x-api-key': API_KEY, 'content-type': 'application/json', 'idempotency-key': `k${depth}${open.length}`
            },
            body: `${open.repeat(depth)}1${close.repeat(depth)}`
          })
          await response.arrayBuffer()
          statuses.push(response.status)
        }
      }
      const stored = Number((await target.sql`
        select coalesce(sum(length(body)), 0) as n from idempotency_keys`)[0]!.n)
      return {
        figures: { requests: statuses.length, 'bytes stored': stored },
        faults: statuses.every((status) => status === 400) ? [] : [`answers ${statuses.join()}`]
      }
    } finally {
      await target.stop()
    }
  }
}
