import { randomUUID } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type postgres from 'postgres'

/** The channel on which the database's triggers say whose standing has changed. */
const CHANNEL = 'locanda_identity'
const PATIENCE_MS = 500

export type Change = 'user' | 'session' | 'key' | 'signing'

/** What other processes, and the database itself, change in who may come in. */
export interface Changes {
  /** Listening: what is remembered from now on will be contradicted when it changes. */
  ready (): Promise<boolean>
  /** Resolves when every process that listens has heard of every change committed so far; one that does not answer is not waited for long. */
  settled (): Promise<void>
}

/** A question to all that listen, and how many of them have answered; how many there are is known a little later. */
interface Round { heard: number, expected: number, done: () => void }

/**
 * Listens to the changes of users, sessions and keys, from the first question on.
 * @param onChange one of them changed
 * @param onGap some may have been missed
 * @param patienceMs how long `settled` waits for processes that do not answer
 */
export function listenToChanges (
  sql: postgres.Sql, log: Pick<FastifyBaseLogger, 'warn' | 'error'>, onChange: (change: Change, id: string) => void, onGap: () => void, patienceMs = PATIENCE_MS
): Changes {
  const rounds = new Map<string, Round>()
  let listening: Promise<boolean> | undefined

  function heard (payload: string) {
    const [change = '', id = ''] = payload.split(':')
    // What came before this has been heard: notifications come in the order of their commits.
    if (change === 'sync') acknowledge(id)
    else if (change === 'ack') count(rounds.get(id))
    else onChange(change as Change, id)
  }

  function acknowledge (id: string) {
    const own = rounds.get(id)
    if (own) count(own)
    else sql`select pg_notify(${CHANNEL}, ${`ack:${id}`})`.catch((err: unknown) => log.warn({ err }, 'a change of identity was heard and not acknowledged'))
  }

  function count (round: Round | undefined) {
    if (round && ++round.heard >= round.expected) round.done()
  }

  const ready = () => {
    listening ??= sql.listen(CHANNEL, heard, onGap).then(() => true, (err: unknown) => {
      log.error({ err }, 'changes of identity are not heard: nothing is remembered')
      // The next one tries again.
      listening = undefined
      return false
    })
    return listening
  }

  return {
    ready,
    async settled () {
      onGap()
      if (!await ready()) return
      const id = randomUUID()
      const { promise, resolve } = Promise.withResolvers<void>()
      const round: Round = { heard: 0, expected: Infinity, done: resolve }
      rounds.set(id, round)
      const deadline = setTimeout(resolve, patienceMs)
      try {
        const [row] = await sql<[{ listeners: number }]>`
          select pg_notify(${CHANNEL}, ${`sync:${id}`}),
            (select count(*)::int from pg_stat_activity where datname = current_database() and query = ${`listen "${CHANNEL}"`}) as listeners`
        round.expected = Math.max(1, row.listeners)
        if (round.heard < round.expected) await promise
      } catch (err) {
        // The change itself is committed.
        log.warn({ err }, 'a change of identity was not waited for')
      } finally {
        clearTimeout(deadline)
        rounds.delete(id)
      }
    }
  }
}
