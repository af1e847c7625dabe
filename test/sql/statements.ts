import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyInstance } from 'fastify'

/**
 * Counts the statements that the pool of an application is given by what is done, and by what that starts: those of
 * jobs and workers that run beside it are not its own.
 */
export function countStatements ({ sql }: FastifyInstance): (work: () => Promise<unknown>) => Promise<number> {
  const counted = new AsyncLocalStorage<{ statements: number }>()
  const { unsafe } = sql
  // Drizzle sends every statement by this function.
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
