import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyInstance } from 'fastify'

/**
 * Counts the statements on the application's pool that `work` causes, directly or indirectly. Statements of concurrent
 * jobs and workers do not count.
 */
export function countStatements ({ sql }: FastifyInstance): (work: () => Promise<unknown>) => Promise<number> {
  const counted = new AsyncLocalStorage<{ statements: number }>()
  const { unsafe } = sql
  // Drizzle sends every statement through this function.
  sql.unsafe = ((...args: Parameters<typeof unsafe>) => {
    const count = counted.getStore()
    if (count) count.statements++
    return unsafe(...args)
  }) as typeof unsafe
  return async (work) => {
    const count = { statements: 0 }
    await counted.run(count, work)
    return count.statements
  }
}
