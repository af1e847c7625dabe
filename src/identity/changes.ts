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
  /**
   * Resolves when every process that listens has heard of every change committed so far; one that does not answer is
   * not waited for long.
   */
  settled (): Promise<void>
}

/** A question to all that listen, and who has answered; how many there are is known a little later. */
interface Round { heard: Set<string>, expected: number, done: () => void }

/**
 * Listens to the changes of users, sessions and keys, from the first question on.
 * @param onChange one of them changed
 * @param onGap some may have been missed
 * @param patienceMs how long `settled` waits for processes that do not answer
 */
export function listenToChanges (
  sql: postgres.Sql,
  log: Pick<FastifyBaseLogger, 'warn' | 'error'>,
  onChange: (change: Change, id: string) => void,
  onGap: () => void,
  patienceMs = PATIENCE_MS
): Changes {
  const rounds = new Map<string, Round>()
  const own = randomUUID()
  let isHeard = false
  let begun: Promise<void> | undefined

  function heard (payload: string) {
    const [change = '', id = '', process = ''] = payload.split(':')
    // What came before this has been heard: notifications come in the order of their commits.
    if (change === 'sync') acknowledge(id)
    else if (change === 'ack') count(id, process)
    else onChange(change as Change, id)
  }

  function acknowledge (id: string) {
    if (rounds.has(id)) count(id, own)
    else {
      sql`select pg_notify(${CHANNEL}, ${`ack:${id}:${own}`})`.catch((err: unknown) =>
        log.warn({ err }, 'a change of identity was heard and not acknowledged')
      )
    }
  }

  function count (id: string, process: string) {
    const round = rounds.get(id)
    if (round && round.heard.add(process).size >= round.expected) round.done()
  }

  async function ready () {
    // Once only: the driver goes on trying by itself, also when the first attempt fails.
    begun ??= sql
      .listen(CHANNEL, heard, () => {
        isHeard = true
        onGap()
      })
      .then(
        () => {},
        (err: unknown) => log.error({ err }, 'changes of identity are not heard yet: nothing is remembered')
      )
    await begun
    return isHeard
  }

  async function ask (id: string, round: Round): Promise<void> {
    if (!(await ready())) return round.done()
    const [row] = await sql<[{ listeners: number }]>`
      select pg_notify(${CHANNEL}, ${`sync:${id}`}),
        (select count(*)::int from pg_stat_activity where datname = current_database() and query = ${`listen "${CHANNEL}"`}) as listeners`
    round.expected = Math.max(1, row.listeners)
    if (round.heard.size >= round.expected) round.done()
  }

  return {
    ready,
    async settled () {
      onGap()
      const id = randomUUID()
      const { promise, resolve } = Promise.withResolvers<void>()
      const round: Round = { heard: new Set(), expected: Infinity, done: resolve }
      rounds.set(id, round)
      const deadline = setTimeout(resolve, patienceMs)
      // Not awaited itself: with the database gone or busy even the question may have to wait. The change itself is
      // committed.
      ask(id, round).catch((err: unknown) => {
        log.warn({ err }, 'a change of identity was not waited for')
        resolve()
      })
      await promise
      clearTimeout(deadline)
      rounds.delete(id)
    }
  }
}
