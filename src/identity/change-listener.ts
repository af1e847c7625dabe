import { randomUUID } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type postgres from 'postgres'

/** The channel on which triggers of the database, and this server, report changes of users, sessions and keys. */
export const CHANGE_CHANNEL = 'locanda_identity'
const WAIT_MS = 500

export type Change = 'user' | 'session' | 'key' | 'signing'

/** Hears the changes of users, sessions and keys that this process, another process or the database makes. */
export interface ChangeListener {
  /** Whether this process listens: only then may it keep what it reads, because it will hear of changes. */
  ready (): Promise<boolean>
  /**
   * Resolves when every process that listens has heard of every change committed so far, or when the time for the
   * processes that do not answer is up.
   */
  waitForListeners (): Promise<void>
}

/** A question to all processes that listen. How many there are is known a little later. */
interface SyncRound { answered: Set<string>, expected: number, done: () => void }

/**
 * Listens to changes of users, sessions and keys, from the first call on.
 * @param onChange one of them has changed
 * @param onGap changes may have been missed
 * @param waitMs how long `waitForListeners` waits for processes that do not answer
 */
export function listenToChanges (
  sql: postgres.Sql,
  log: Pick<FastifyBaseLogger, 'warn' | 'error'>,
  onChange: (change: Change, id: string) => void,
  onGap: () => void,
  waitMs = WAIT_MS
): ChangeListener {
  const rounds = new Map<string, SyncRound>()
  const ownId = randomUUID()
  let isListening = false
  let listening: Promise<void> | undefined

  function onNotification (payload: string) {
    const [change = '', id = '', process = ''] = payload.split(':')
    // Notifications come in the order of their commits: this process has heard all changes before the question.
    if (change === 'sync') acknowledge(id)
    else if (change === 'ack') countAnswer(id, process)
    else onChange(change as Change, id)
  }

  function acknowledge (id: string) {
    if (rounds.has(id)) countAnswer(id, ownId)
    else {
      sql`select pg_notify(${CHANGE_CHANNEL}, ${`ack:${id}:${ownId}`})`.catch((err: unknown) =>
        log.warn({ err }, 'a change of identity was heard but could not be acknowledged')
      )
    }
  }

  function countAnswer (id: string, process: string) {
    const round = rounds.get(id)
    if (round && round.answered.add(process).size >= round.expected) round.done()
  }

  async function ready () {
    // Called once: the driver repeats by itself, also when the first attempt fails.
    listening ??= sql
      .listen(CHANGE_CHANNEL, onNotification, () => {
        isListening = true
        onGap()
      })
      .then(
        () => {},
        (err: unknown) => log.error({ err }, 'changes of identity are not heard yet: nothing is cached')
      )
    await listening
    return isListening
  }

  async function askAll (id: string, round: SyncRound): Promise<void> {
    if (!(await ready())) return round.done()
    const [row] = await sql<[{ listeners: number }]>`
      select pg_notify(${CHANGE_CHANNEL}, ${`sync:${id}`}), (
        select count(*)::int from pg_stat_activity
        where datname = current_database() and query = ${`listen "${CHANGE_CHANNEL}"`}
      ) as listeners`
    round.expected = Math.max(1, row.listeners)
    if (round.answered.size >= round.expected) round.done()
  }

  return {
    ready,
    async waitForListeners () {
      onGap()
      const id = randomUUID()
      const { promise, resolve } = Promise.withResolvers<void>()
      const round: SyncRound = { answered: new Set(), expected: Infinity, done: resolve }
      rounds.set(id, round)
      const deadline = setTimeout(resolve, waitMs)
      // Not awaited: when the database is gone or busy, even the question may have to wait. The change itself is
      // committed already.
      askAll(id, round).catch((err: unknown) => {
        log.warn({ err }, 'the other processes could not be asked whether they have heard a change of identity')
        resolve()
      })
      await promise
      clearTimeout(deadline)
      rounds.delete(id)
    }
  }
}
