import type { SMTPPoolOptions } from 'nodemailer'
import { isLoopbackHost } from '#src/lib/addresses.ts'
import { ConfigError } from '#src/config/data-folder.ts'
import type { Mailbox } from './mail-address.ts'
import type { Mail } from './queue.ts'
import { replyCodes } from './reply.ts'

/**
 * Milliseconds. RFC 5321 would give a server minutes for each step; but other mails wait meanwhile, and the queue tries
 * again.
 */
const TIMEOUTS = {
  dnsTimeout: 10_000,
  connectionTimeout: 20_000,
  greetingTimeout: 30_000,
  socketTimeout: 45_000,
  socketCloseTimeout: 2000
}
/** A connection serves one round of the queue; left idle for long, the server would drop it under the next mail. */
const IDLE_MS = 5000

export interface Transport {
  /** Where it sends. */
  server: { host: string, port: number }
  /** Resolves when the server has taken the mail, with the codes of its reply; see `replyCodes`. */
  send (mail: Mail, messageId: string, signal: AbortSignal): Promise<string | null>
  /** Drops every connection, also one that is sending. */
  close (): Promise<void>
}

/** SMTP through nodemailer, which is loaded for the first mail. */
export function smtpTransport (url: string, from: Mailbox): Transport {
  const options = smtpOptions(url)
  let opened: ReturnType<typeof open> | undefined
  const open = async () => {
    const [{ createTransport }, { encodeWord }] = await Promise.all([
      import('nodemailer'),
      import('nodemailer/lib/mime-funcs')
    ])
    return {
      transporter: createTransport({ ...options, pool: true }, { disableFileAccess: true, disableUrlAccess: true }),
      encodeWord
    }
  }
  return {
    server: { host: options.host, port: options.port },
    async send ({ to, subject, html, text }, messageId, signal) {
      opened ??= open()
      const { transporter, encodeWord } = await opened
      // What already reads as an encoded word would pass as it is, and be decoded into anything at all.
      const inert = subject.includes('=?') ? encodeWord(subject, 'B', 52) : subject
      // Addresses as objects, and nothing but strings beside them: no parser and no file or URL has a say.
      const message = { from, to: { name: '', address: to }, subject: inert, html, text, messageId, signal }
      const { response } = await transporter.sendMail(message)
      return replyCodes(response)
    },
    async close () {
      (await opened)?.transporter.close({ force: true })
    }
  }
}

/**
 * The connection that `SMTP_URL` describes: TLS from the beginning (`smtps:`), or STARTTLS, which only a server on
 * loopback may do without. Parameters in the URL are refused: with them nodemailer could be told not to verify
 * certificates.
 * @throws ConfigError without the URL, which may hold a password
 */
export function smtpOptions (url: string): SMTPPoolOptions & Transport['server'] {
  const { protocol, hostname, port, username, password, pathname, search, hash } = parse(url)
  if (hostname === '' || !['', '/'].includes(pathname) || search !== '' || hash !== '') throw malformed()
  const secure = protocol === 'smtps:'
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    // Without one, the usual port of each (RFC 8314).
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    // `URL` leaves the host of a scheme that it does not know as it is written.
    requireTLS: !secure && !isLoopbackHost(hostname.toLowerCase()),
    // Said outright, so that NODE_TLS_REJECT_UNAUTHORIZED has no say.
    tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2' },
    ...(username === '' ? {} : { auth: { user: decode(username), pass: decode(password) } }),
    // One after the other: a refused login is found out once.
    maxConnections: 1,
    // The queue alone decides when to try again: in the break-off of a connection the mail may have been taken.
    maxRequeues: 0,
    idleTimeout: IDLE_MS,
    logger: false,
    ...TIMEOUTS
  }
}

/** Whether the server of `SMTP_URL` takes the connection and the login: no mail is sent. */
export async function checkSmtp (url: string): Promise<void> {
  const options = smtpOptions(url)
  const { createTransport } = await import('nodemailer')
  const transporter = createTransport(options)
  try {
    await transporter.verify()
  } finally {
    transporter.close()
  }
}

function parse (url: string): URL {
  if (!URL.canParse(url)) throw malformed()
  return new URL(url)
}

function decode (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw malformed()
  }
}

function malformed (): ConfigError {
  return new ConfigError(
    'SMTP_URL',
    'deve essere smtp://[utente:password@]host[:porta] o smtps://…, senza percorso né parametri'
  )
}
