import type { FastifyBaseLogger } from 'fastify'
import { limitedSignal } from '#src/lib/limited-signal.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Database } from '#src/database/connect.ts'
import { failureOf, replyOf, UNREADABLE, type Failure } from './failure.ts'
import { claim, delivered, failed, forgetRefusedLogin, unsealMail, type Claimed, type Mail } from './queue.ts'
import type { Transport } from './transport.ts'
import { within } from '#src/lib/within.ts'

/** One attempt, all of it: shorter than a claim. */
const ATTEMPT_MS = 4 * 60_000
/**
 * How long the end of the process waits for the attempt under way, and then, once it is broken off, for the note of
 * that.
 */
const CLOSE_WITHIN_MS = 10_000

export interface Worker {
  /** Sends what is due, soon. */
  deliver (): void
  /**
   * Begins no further attempt and waits for the one under way; one that takes too long is broken off and made again
   * later.
   */
  stop (): Promise<void>
}

interface WorkerOptions {
  db: Database
  keys: Keys
  transport: Transport
  log: FastifyBaseLogger
  /** Whether an error comes of a full disk: then the log says so already. */
  isTold?: (err: unknown) => boolean
  closeWithinMs?: number
}

/**
 * Carries out the queue, one mail after the other; any number of processes may share it. A mail is delivered at least
 * once: when a process or its connection dies between the server's taking it and the note of it, it goes out again,
 * with the same Message-ID.
 */
export function mailWorker (
  { db, keys, transport, log, isTold, closeWithinMs = CLOSE_WITHIN_MS }: WorkerOptions
): Worker {
  const end = new AbortController()
  const breakOff = new AbortController()
  let underWay: Promise<void> | undefined
  let wanted = false
  let started = false

  async function work (): Promise<void> {
    try {
      if (!started) await forgetRefusedLogin(db)
      started = true
      while (wanted && !end.signal.aborted) {
        wanted = false
        await round()
      }
    } catch (err) {
      if (!isTold?.(err)) log.error({ err }, 'the mail queue could not be worked on')
    } finally {
      underWay = undefined
    }
  }

  /** Until nothing is due, or the server cannot be had: what is left comes in the next round. */
  async function round (): Promise<void> {
    while (!end.signal.aborted) {
      const mail = await claim(db)
      if (!mail) return
      const { reply, failure } = await attempt(mail)
      if (!failure) {
        await delivered(db, mail, reply)
        continue
      }
      const stato = await failed(db, mail, failure, reply)
      log[stato === 'fallita' ? 'error' : 'warn'](
        { mail: mail.id, stato, codice: failure.code, attempts: mail.attempts },
        'mail not delivered'
      )
      if (!failure.ofThisMail) return
    }
  }

  async function attempt (mail: Claimed): Promise<{ reply: string | null, failure?: Failure }> {
    let content: Mail
    try {
      content = unsealMail(keys, mail)
    } catch {
      return { reply: null, failure: { code: UNREADABLE, permanent: true, ofThisMail: true } }
    }
    const limit = limitedSignal([breakOff.signal], ATTEMPT_MS)
    try {
      return { reply: await transport.send(content, mail.message_id, limit.signal) }
    } catch (err) {
      return { reply: replyOf(err), failure: failureOf(err) }
    } finally {
      limit.end()
    }
  }

  return {
    deliver () {
      if (end.signal.aborted) return
      wanted = true
      underWay ??= work()
    },
    async stop () {
      end.abort()
      await within(closeWithinMs, underWay)
      breakOff.abort()
      await within(closeWithinMs, underWay)
      await transport.close()
    }
  }
}
