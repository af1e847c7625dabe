import type { SMTPPoolOptions } from 'nodemailer'
import { isLoopbackHost } from '#src/lib/addresses.ts'
import { ConfigError } from '#src/config/data-folder.ts'
import type { Mailbox } from './mail-address.ts'
import type { Mail } from './queue.ts'
import { replyCodes } from './smtp-reply-codes.ts'

/** Timeouts in milliseconds. RFC 5321 allows minutes for each step, but other mails wait, and the queue retries. */
const TIMEOUTS = {
  dnsTimeout: 10_000,
  connectionTimeout: 20_000,
  greetingTimeout: 30_000,
  socketTimeout: 45_000,
  socketCloseTimeout: 2000
}
/** A connection is used for one batch of the queue. An idle one could be closed during the next mail. */
const IDLE_MS = 5000

export interface Transport {
  /** The SMTP server. */
  server: { host: string, port: number }
  /** Sends a mail. Resolves with the codes of the server's reply (`replyCodes`) when the server has accepted it. */
  send (mail: Mail, messageId: string, signal: AbortSignal): Promise<string | null>
  /** Closes every connection, even during an attempt. */
  close (): Promise<void>
}

/** SMTP through nodemailer, which is loaded with the first mail. */
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
      // Encode text that looks like an encoded word, because the recipient would decode it otherwise.
      const inert = subject.includes('=?') ? encodeWord(subject, 'B', 52) : subject
      // Addresses are objects and other fields strings, so that nodemailer parses none, and opens no file or URL.
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
 * The options of `SMTP_URL`: TLS from the start (`smtps:`), or STARTTLS, which is optional only on loopback. URL
 * parameters are rejected, because they could disable nodemailer's certificate verification.
 * @throws ConfigError without the URL, which may contain a password
 */
export function smtpOptions (url: string): SMTPPoolOptions & Transport['server'] {
  const { protocol, hostname, port, username, password, pathname, search, hash } = parse(url)
  if (hostname === '' || !['', '/'].includes(pathname) || search !== '' || hash !== '') throw malformed()
  const secure = protocol === 'smtps:'
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    // The default ports (RFC 8314).
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    // `URL` does not normalize the host of an unknown scheme.
    requireTLS: !secure && !isLoopbackHost(hostname.toLowerCase()),
    // Set explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect.
    tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2' },
    ...(username === '' ? {} : { auth: { user: decode(username), pass: decode(password) } }),
    // One connection, so that a refused login occurs only once.
    maxConnections: 1,
    // Only the queue retries, because the server may have accepted a mail before the connection broke.
    maxRequeues: 0,
    idleTimeout: IDLE_MS,
    logger: false,
    ...TIMEOUTS
  }
}

/** Checks connection and login to the server of `SMTP_URL` without sending a mail. */
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
