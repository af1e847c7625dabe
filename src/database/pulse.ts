import type { FastifyBaseLogger } from 'fastify'
import { connect } from './connect.ts'
import { connectionCode } from './problems.ts'
import { createSockets, type Sockets } from './sockets.ts'

const SECOND_MS = 1000
/** Seconds between an answer and the next question. */
const REST = 4
/** Seconds that an answer may take. A statement may take longer: it is asked on a connection without any work. */
const PATIENCE = 8

export interface Pulse {
  /** Asks now, and is content with no longer than so many seconds for an answer. */
  hurry (seconds: number): void
  stop (): Promise<void>
}

/**
 * Asks a database again and again whether it is there. One that hangs keeps its connections open, and who waits for it
 * would wait for good: its connections are cut, and until it answers again new ones fail at once.
 * @param sockets of all pools
 */
export function takePulse (url: string, sockets: Sockets, log: FastifyBaseLogger): Pulse {
  const own = createSockets()
  const { sql, close } = connect(url, 1, {}, own)
  let patience = PATIENCE
  let rested = 0
  let isAsked = false
  /** Seconds by our own counting: a process that stood still itself has not given the database any. */
  let waited = 0

  function ask (): void {
    isAsked = true
    sql`select 1`.then(hear, (err: unknown) => {
      // Where nobody is at all, the driver says so by itself.
      if (!sockets.areCut && connectionCode(err) !== 'CONNECT_TIMEOUT') hear()
    }).finally(() => { isAsked = false })
  }

  function hear (): void {
    waited = 0
    rested = 0
    if (!sockets.areCut) return
    sockets.mend()
    log.warn('the database answers again')
  }

  function giveUp (): void {
    if (!sockets.areCut) log.error('the database does not answer: what waits for it is refused')
    sockets.cut()
    // The next question goes over a new connection: this one may never answer again.
    own.cut()
    own.mend()
    waited = 0
  }

  const timer = setInterval(() => {
    if (!isAsked && (sockets.areCut || rested++ >= REST)) return ask()
    if (isAsked && waited++ >= patience) giveUp()
  }, SECOND_MS).unref()

  return {
    hurry (seconds) {
      patience = Math.min(patience, seconds)
      if (!isAsked) ask()
    },

    async stop () {
      clearInterval(timer)
      if (sockets.areCut) own.cut()
      await close()
    }
  }
}
