import { randomUUID } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import fp from 'fastify-plugin'
import type postgres from 'postgres'

/**
 * The channel on which triggers of the database, and this server, report changes as `<change>:<id>`.
 */
export const CHANGE_CHANNEL = 'locanda_identity'
const WAIT_MS = 500
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/
/** Questions that wait for an answer; more than all processes together ask at once. */
const UNANSWERED_MAX = 1000

/** The handlers of a subscriber, by kind of change: a trigger names the kind, and the id of the changed thing. */
export type ChangeHandlers = Readonly<Record<string, (id: string) => void>>

/** Hears the changes that this process, another process or the database makes. */
export interface ChangeListener {
  /** Whether this process listens: only then may it keep what it reads, because it will hear of changes. */
  ready (): Promise<boolean>
  /**
   * Counts as a gap for the subscriber that asks. Resolves when every process that listens has heard of every change
   * committed so far, or when the time for the processes that do not answer is up.
   * @param waitMs how long they are waited for
   */
  waitForListeners (waitMs?: number): Promise<void>
}

/** All changes that are reported, over one connection of the process; it listens from the first call on. */
export interface Changes {
  /** @param onGap changes may have been missed */
  subscribe (handlers: ChangeHandlers, onGap: () => void): ChangeListener
}

declare module 'fastify' {
  interface FastifyInstance {
    changes: Changes
  }
}

/** A question to all processes that listen. How many there are is known a little later. */
interface SyncRound { answered: Set<string>, expected: number, done: () => void }

export interface ChangesOptions {
  /** How long processes that do not answer are waited for, milliseconds. */
  listenersMs?: number | undefined
}

/** Tells what is kept in memory when the database says that it has changed. */
export default fp<ChangesOptions>(async function changes (app, { listenersMs }) {
  app.decorate('changes', changeFeed(app.sql, app.log, listenersMs))
}, { name: 'changes', dependencies: ['database'] })

/** @param usualWaitMs how long `waitForListeners` waits unless it is told otherwise */
export function changeFeed (
  sql: postgres.Sql,
  log: Pick<FastifyBaseLogger, 'warn' | 'error'>,
  usualWaitMs = WAIT_MS
): Changes {
  const subscribers: { handlers: ChangeHandlers, onGap: () => void }[] = []
  const rounds = new Map<string, SyncRound>()
  const ownId = randomUUID()
  /** Questions of other processes. */
  const unanswered = new Set<string>()
  let answering: Promise<void> | undefined
  let isListening = false
  let listening: Promise<void> | undefined

  function onNotification (payload: string) {
    const [change = '', id = '', process = ''] = payload.split(':')
    // Notifications come in the order of their commits: this process has heard all changes before the question.
    if (change === 'sync') acknowledge(id)
    else if (change === 'ack') countAnswer(id, process)
    else for (const { handlers } of subscribers) handlers[change]?.(id)
  }

  function acknowledge (id: string) {
    if (rounds.has(id)) countAnswer(id, ownId)
    // Every role of the database can send such a question. One that no process has made is not answered, and a flood of
    // them neither fills the memory nor takes the connections.
    else if (UUID.test(id) && unanswered.size < UNANSWERED_MAX) {
      unanswered.add(id)
      answering ??= answerAll().finally(() => { answering = undefined })
    }
  }

  async function answerAll () {
    while (unanswered.size > 0) {
      const ids = `{${[...unanswered].join()}}`
      unanswered.clear()
      await sql`
        select pg_notify(${CHANGE_CHANNEL}, 'ack:' || id || ${`:${ownId}`}) from unnest(${ids}::text[]) as id
      `.catch((err: unknown) => log.warn({ err }, 'a change was heard but could not be acknowledged'))
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
        for (const { onGap } of subscribers) onGap()
      })
      .then(
        () => {},
        (err: unknown) => log.error({ err }, 'changes are not heard yet: nothing is cached')
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

  async function waitForListeners (waitMs: number) {
    const id = randomUUID()
    const { promise, resolve } = Promise.withResolvers<void>()
    const round: SyncRound = { answered: new Set(), expected: Infinity, done: resolve }
    rounds.set(id, round)
    const deadline = setTimeout(resolve, waitMs)
    // Not awaited: when the database is gone or busy, even the question may have to wait. The change itself is
    // committed already.
    askAll(id, round).catch((err: unknown) => {
      log.warn({ err }, 'the other processes could not be asked whether they have heard a change')
      resolve()
    })
    await promise
    clearTimeout(deadline)
    rounds.delete(id)
  }

  return {
    subscribe (handlers, onGap) {
      subscribers.push({ handlers, onGap })
      return {
        ready,
        async waitForListeners (waitMs = usualWaitMs) {
          onGap()
          await waitForListeners(waitMs)
        }
      }
    }
  }
}
