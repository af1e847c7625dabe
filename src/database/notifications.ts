import { randomUUID } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import fp from 'fastify-plugin'
import type postgres from 'postgres'

/** Channel on which triggers and servers notify changes, as `<change>:<id>`. */
export const NOTIFICATION_CHANNEL = 'locanda_identity'
const WAIT_MS = 500
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/
/** Maximum unanswered sync requests. Servers never send as many. */
const UNANSWERED_MAX = 1000

/** Handlers of a subscriber, one per kind of change. A handler gets the id of the changed row. */
type NotificationHandlers = Readonly<Record<string, (id: string) => void>>

/** Receives changes that this process, other processes and the database notify. */
export interface NotificationListener {
  /** Whether this process is listening. Only then may it cache data, because it is notified of changes. */
  ready (): Promise<boolean>
  /**
   * Resolves when all listening processes have received every change committed so far, or after a timeout. Also calls
   * `onGap` of this subscriber.
   * @param waitMs the timeout
   */
  waitForListeners (waitMs?: number): Promise<void>
}

/** Notified changes. The process listens on one connection, from the first `ready` or `waitForListeners` on. */
export interface Notifications {
  /** @param onGap called when changes may have been missed */
  subscribe (handlers: NotificationHandlers, onGap: () => void): NotificationListener
}

declare module 'fastify' {
  interface FastifyInstance {
    notifications: Notifications
  }
}

/** A sync request to all listening processes. `expected` is known when PostgreSQL has counted them. */
interface SyncRound { answered: Set<string>, expected: number, done: () => void }

interface NotificationsOptions {
  /** Timeout for processes that do not respond, in milliseconds. */
  listenersMs?: number | undefined
}

/** Decorates the app with the changes that the database notifies, so that areas can invalidate their caches. */
export default fp<NotificationsOptions>(async function notifications (app, { listenersMs }) {
  app.decorate('notifications', listenForNotifications(app.sql, app.log, listenersMs))
}, { name: 'notifications', dependencies: ['database'] })

/** @param usualWaitMs the default timeout of `waitForListeners` */
export function listenForNotifications (
  sql: postgres.Sql,
  log: Pick<FastifyBaseLogger, 'warn' | 'error'>,
  usualWaitMs = WAIT_MS
): Notifications {
  const subscribers: { handlers: NotificationHandlers, onGap: () => void }[] = []
  const rounds = new Map<string, SyncRound>()
  const ownId = randomUUID()
  /** Sync requests of other processes that this process has not answered yet. */
  const unanswered = new Set<string>()
  let answering: Promise<void> | undefined
  let isListening = false
  let listening: Promise<void> | undefined

  function onNotification (payload: string) {
    const [change = '', id = '', process = ''] = payload.split(':')
    // Notifications arrive in commit order, so this process has received all changes before the request.
    if (change === 'sync') acknowledge(id)
    else if (change === 'ack') countResponse(id, process)
    else for (const { handlers } of subscribers) handlers[change]?.(id)
  }

  function acknowledge (id: string) {
    if (rounds.has(id)) countResponse(id, ownId)
    // Every database role can send sync requests. So invalid requests are ignored, and a flood takes limited memory and
    // connections.
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
        select pg_notify(${NOTIFICATION_CHANNEL}, 'ack:' || id || ${`:${ownId}`}) from unnest(${ids}::text[]) as id
      `.catch((err: unknown) => log.warn({ err }, 'a notification was received but could not be acknowledged'))
    }
  }

  function countResponse (id: string, process: string) {
    const round = rounds.get(id)
    if (round && round.answered.add(process).size >= round.expected) round.done()
  }

  async function ready () {
    // One call suffices. The driver retries by itself, even if the first attempt fails.
    listening ??= sql
      .listen(NOTIFICATION_CHANNEL, onNotification, () => {
        isListening = true
        for (const { onGap } of subscribers) onGap()
      })
      .then(
        () => {},
        (err: unknown) => log.error({ err }, 'not listening for notifications yet: nothing is cached')
      )
    await listening
    return isListening
  }

  async function askAll (id: string, round: SyncRound): Promise<void> {
    if (!(await ready())) return round.done()
    const [row] = await sql<[{ listeners: number }]>`
      select pg_notify(${NOTIFICATION_CHANNEL}, ${`sync:${id}`}), (
        select count(*)::int from pg_stat_activity
        where datname = current_database() and query = ${`listen "${NOTIFICATION_CHANNEL}"`}
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
    // Not awaited, because a slow database would delay the caller, and the change itself is committed.
    askAll(id, round).catch((err: unknown) => {
      log.warn({ err }, 'the other processes could not be asked to confirm a notification')
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
