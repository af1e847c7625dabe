import type { FastifyInstance } from 'fastify'

/** Counts the statements that the pool of an application is given while something is done. */
export function countStatements ({ sql }: FastifyInstance): (work: () => Promise<unknown>) => Promise<number> {
  let statements = 0
  const { unsafe } = sql
  // Drizzle sends every statement by this function.
  sql.unsafe = ((...args: Parameters<typeof unsafe>) => {
    statements++
    return unsafe(...args)
  }) as typeof unsafe
  return async (work) => {
    const before = statements
    await work()
    return statements - before
  }
}
