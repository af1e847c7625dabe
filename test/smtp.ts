import { once } from 'node:events'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import type { Test } from 'tap'
import { freePort } from './free-port.ts'
import { parseMail } from '#test/services/mail/mime.ts'

/** A mail that the server has received. */
export interface Received {
  envelope: { from: string, to: string[] }
  /** Headers by lower-case name. */
  headers: Record<string, string[]>
  subject: string
  text: string
  html: string
  /** Its bytes as Latin-1. */
  raw: string
  /** Whether it was received over TLS. */
  secure: boolean
}

export interface Smtp {
  /** The value for `SMTP_URL`. */
  url: string
  port: number
  /** Accepted mails so far. */
  mails: Received[]
  /** Resolves with the next mail that `next` has not returned yet. */
  next (): Promise<Received>
  close (): Promise<void>
}

/** Decides about a received mail. An error refuses it with its `responseCode`. */
type Decide = (mail: Received) => void | Promise<void>

/**
 * An SMTP server on loopback, which stops when the test ends. By default it accepts every mail, without TLS and login.
 * @param options of the server, and `port`, `decide`
 */
export async function startSmtp (
  t: Pick<Test, 'teardown'>,
  options: SMTPServerOptions & { port?: number; decide?: Decide } = {}
): Promise<Smtp> {
  // A port that no other program uses while the server is down.
  const { port = await freePort(), decide, ...rest } = options
  const mails: Received[] = []
  const waiting: (() => void)[] = []
  let handedOut = 0
  const decided = async (mail: Received) => decide?.(mail)

  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    closeTimeout: 50,
    ...rest,
    onData (stream, { envelope, secure }, done) {
      const chunks: Buffer[] = []
      stream
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => {
          const raw = Buffer.concat(chunks).toString('latin1')
          const { headers, text, html } = parseMail(raw)
          const mail = {
            envelope: {
              from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
              to: envelope.rcptTo.map(({ address }) => address)
            },
            headers,
            subject: headers.subject?.join() ?? '',
            text,
            html,
            raw,
            secure
          }
          decided(mail).then(() => {
            mails.push(mail)
            for (const wake of waiting.splice(0)) wake()
            done()
          }, done)
        })
    }
  })
  // Connection errors of clients that disconnect are irrelevant.
  server.on('error', () => {})
  server.listen(port, '127.0.0.1')
  await once(server.server, 'listening')
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(resolve)
    })
  t.teardown(close)
  return {
    url: `${rest.secure ? 'smtps' : 'smtp'}://127.0.0.1:${port}`,
    port,
    mails,
    async next () {
      const at = handedOut++
      while (mails[at] === undefined) {
        await new Promise<void>((resolve) => {
          waiting.push(resolve)
        })
      }
      return mails[at]!
    },
    close
  }
}

/** An SMTP error that refuses a command. */
export function smtpError (responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode })
}
