import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import type postgres from 'postgres'
import type { Test } from 'tap'
import type { Connection } from '#src/database/connect.ts'
import { testDatabase } from '#test/database.ts'
import { build, type TestApp } from '#test/helper.ts'
import { createPerson, PASSWORD } from '#test/identity/shared-password.ts'

export { PASSWORD } from '#test/identity/shared-password.ts'

export interface AppWithLocks extends TestApp {
  /** A connection in addition to those of the application. */
  sql: Connection['sql']
  /** The id of a new person who can sign in with `PASSWORD`. */
  person (email: string, changes?: object): Promise<string>
  signIn (email: string, password?: string, app?: FastifyInstance): Promise<LightMyRequestResponse>
  /**
   * Runs `change` in a transaction, and calls `start`, whose request waits for the locks of `change`. Then it commits,
   * and returns the response.
   */
  meanwhile<T> (change: Moment, start: () => Promise<T>): Promise<T>
  /** Like `meanwhile`, for several requests. Each request starts when the one before waits for a lock. */
  inTurn<T> (change: Moment, starts: (() => Promise<T>)[]): Promise<T[]>
}

type Moment = (tx: postgres.TransactionSql) => Promise<unknown>

/** An application, and a second connection that can keep a transaction open. */
export async function appWithLocks (t: Test, environ: Record<string, string> = {}): Promise<AppWithLocks> {
  const { sql, url } = await testDatabase(t)
  const test = await build(t, { DATABASE_URL: url, RATE_LIMIT_LOGIN_MAX: '100000', ...environ })
  const { app } = test

  async function countWaiting (): Promise<number> {
    const [row] = await sql<
      [{ n: number }]
    >`select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    return row.n
  }

  async function inTurn<T> (change: Moment, starts: (() => Promise<T>)[]): Promise<T[]> {
    const { promise: changed, resolve } = Promise.withResolvers<void>()
    const { promise: waiting, resolve: release } = Promise.withResolvers<void>()
    const committed = sql.begin(async (tx) => {
      await change(tx)
      resolve()
      await waiting
    })
    await Promise.race([changed, committed])
    const responses: Promise<T>[] = []
    const state = { isOver: false }
    for (const start of starts) {
      responses.push(start().finally(() => { state.isOver = true }))
      while (!state.isOver && await countWaiting() < responses.length) await sleep(2)
    }
    release()
    await committed
    return await Promise.all(responses)
  }

  return {
    ...test,
    sql,

    person: async (email, changes) => (await createPerson(test, email, changes)).id,

    async signIn (email, password = PASSWORD, on = app) {
      return await on.inject({
        method: 'POST', url: '/auth/v1/token?grant_type=password', payload: { email, password }
      })
    },

    meanwhile: async (change, start) => (await inTurn(change, [start]))[0]!,
    inTurn
  }
}
