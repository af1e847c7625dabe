import type { FastifyBaseLogger } from 'fastify'
import { limitedSignal } from '#src/lib/limited-signal.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Database } from '#src/database/connect.ts'
import { queueWorker, type QueueWorker } from '../queue/worker.ts'
import { classifySmtpError, replyCodesOf, UNREADABLE, type SmtpFailure } from './smtp-errors.ts'
import { claim, delivered, failed, forgetRefusedLogin, unsealMail, type Claimed, type Mail } from './queue.ts'
import type { Transport } from './transport.ts'

/** Timeout of a whole attempt. It is shorter than a lease. */
const ATTEMPT_MS = 100_000

interface WorkerOptions {
  db: Database
  keys: Keys
  transport: Transport
  log: FastifyBaseLogger
  /** Whether the log already reports the cause of the error (a full disk). */
  isReported?: (err: unknown) => boolean
  closeWithinMs?: number
}

/**
 * Delivers queued mails at least once. If the process is killed or a connection breaks before the worker has recorded a
 * delivery, it sends the mail again, with the same Message-ID.
 */
export function mailWorker ({ db, keys, transport, log, isReported, closeWithinMs }: WorkerOptions): QueueWorker {
  let started = false
  const worker = queueWorker<Claimed>({
    async claim () {
      if (!started) await forgetRefusedLogin(db)
      started = true
      return await claim(db)
    },
    async carryOut (mail, signal) {
      const { reply, failure } = await attempt(mail, signal)
      if (!failure) {
        await delivered(db, mail, reply)
        return true
      }
      const stato = await failed(db, mail, failure, reply)
      log[stato === 'fallita' ? 'error' : 'warn'](
        { mail: mail.id, stato, codice: failure.code, attempts: mail.attempts },
        'mail not delivered'
      )
      return failure.ofThisMail
    },
    onError (err) {
      if (!isReported?.(err)) log.error({ err }, 'the mail queue could not be processed')
    },
    closeWithinMs
  })

  async function attempt (
    mail: Claimed, signal: AbortSignal
  ): Promise<{ reply: string | null, failure?: SmtpFailure }> {
    let content: Mail
    try {
      content = unsealMail(keys, mail)
    } catch {
      return { reply: null, failure: { code: UNREADABLE, permanent: true, ofThisMail: true } }
    }
    const limit = limitedSignal([signal], ATTEMPT_MS)
    try {
      return { reply: await transport.send(content, mail.message_id, limit.signal) }
    } catch (err) {
      return { reply: replyCodesOf(err), failure: classifySmtpError(err) }
    } finally {
      limit.end()
    }
  }

  return {
    wake: worker.wake,
    async stop () {
      await worker.stop()
      await transport.close()
    }
  }
}
