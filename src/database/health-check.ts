import type { FastifyBaseLogger } from 'fastify'
import { connect } from './connect.ts'
import { connectionCode } from './problems.ts'
import { createSockets, type Sockets } from './sockets.ts'

const SECOND_MS = 1000
/** Seconds between a response and the next query. */
const PAUSE = 4
/** Timeout of the query in seconds. The check has its own connection, so slow statements do not delay it. */
const TIMEOUT = 8

interface HealthCheck {
  /** Checks now, and from now on with a timeout of at most this many seconds. */
  hurry (seconds: number): void
  stop (): Promise<void>
}

/**
 * Health check of the database. A database that hangs keeps its connections open, and callers would wait forever. So
 * the check destroys these connections. New ones fail at once until the database responds again.
 * @param sockets the sockets of all pools
 */
export function startHealthCheck (url: string, sockets: Sockets, log: FastifyBaseLogger): HealthCheck {
  const own = createSockets()
  const { sql, close } = connect(url, 1, {}, own)
  let timeout = TIMEOUT
  let ticksSinceResponse = 0
  let isAsked = false
  /** Seconds that this process's own timer has counted. While the process is paused, it counts none. */
  let ticksWaited = 0

  function ask (): void {
    isAsked = true
    sql`select 1`.then(onResponse, (err: unknown) => {
      // An error is also a response. If the server is down, the driver reports it.
      if (!sockets.areCut && connectionCode(err) !== 'CONNECT_TIMEOUT') onResponse()
    }).finally(() => { isAsked = false })
  }

  function onResponse (): void {
    ticksWaited = 0
    ticksSinceResponse = 0
    if (!sockets.areCut) return
    sockets.mend()
    log.warn('the database responds again')
  }

  function giveUp (): void {
    if (!sockets.areCut) log.error('the database does not respond: waiting requests are rejected')
    sockets.cut()
    // The next query needs a new connection, because this one may never respond.
    own.cut()
    own.mend()
    ticksWaited = 0
  }

  const timer = setInterval(() => {
    if (!isAsked && (sockets.areCut || ticksSinceResponse++ >= PAUSE)) return ask()
    if (isAsked && ticksWaited++ >= timeout) giveUp()
  }, SECOND_MS).unref()

  return {
    hurry (seconds) {
      timeout = Math.min(timeout, seconds)
      if (!isAsked) ask()
    },

    async stop () {
      clearInterval(timer)
      if (sockets.areCut) own.cut()
      await close()
    }
  }
}
