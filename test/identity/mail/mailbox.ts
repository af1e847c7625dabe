import { createClient, type SupabaseClient } from '@supabase/supabase-js'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { readConfig } from '#src/config/config.ts'
import { anonKey } from '#src/identity/tokens/machine-tokens.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { build, type TestApp } from '#test/helper.ts'
import { PASSWORD, withPassword } from '#test/identity/shared-password.ts'
import { startSmtp, type Received, type Smtp } from '#test/smtp.ts'

export const HOME = 'https://app.example'
const PUBLIC_URL = 'https://locanda.example'
const MASTER_KEY = Buffer.alloc(32, 9).toString('base64')
export { PASSWORD } from '#test/identity/shared-password.ts'

/** The contents of a mail. */
export interface Letter { to: string, code: string, link: string, token: string }

export interface Site extends TestApp {
  smtp: Smtp
  /** The official client in a new browser without a session. `key` replaces the public key. */
  client (options?: { flowType?: 'implicit' | 'pkce', key?: string, browser?: typeof fetch }): SupabaseClient
  /** Signs in with a password. @returns the code of the refusal */
  enter (email: string, password?: string): Promise<string | undefined>
  /** The official client with the service key. */
  administrator (): Promise<SupabaseClient>
  /** The next mail. */
  letter (): Promise<Letter>
  /** Follows the link of a mail as a browser does, through all redirects. */
  follow (link: string, browser?: typeof fetch): Promise<{ status: number, target: URL, fragment: URLSearchParams }>
  /** Resets the counters of mails and guesses. */
  forgetCounts (): Promise<void>
  /** A confirmed person with `PASSWORD`, as an administrator creates one. */
  person (email: string, changes?: object): Promise<string>
}

/** The whole service on a separate port, with mail and sign-up, and high limits per caller. */
export async function site (
  t: Test,
  environ: Record<string, string> = {},
  prepare?: (app: FastifyInstance) => void
): Promise<Site> {
  const smtp = await startSmtp(t)
  const settings = {
    SMTP_URL: smtp.url,
    MAIL_FROM: 'posta@locanda.example',
    SIGNUP_ENABLED: 'true',
    PUBLIC_URL,
    CORS_ORIGINS: HOME,
    MASTER_KEY,
    RATE_LIMIT_LOGIN_MAX: '1000',
    ...environ
  }
  const test = await build(t, settings, prepare)
  const address = await test.app.listen({ host: '127.0.0.1', port: 0 })
  const config = readConfig({ ...settings, DATA_DIR: test.dataDir })
  const publicKey = anonKey(config, createKeys(config.MASTER_KEY))
  const client: Site['client'] = ({ flowType = 'implicit', key = publicKey, browser = fetch } = {}) =>
    createClient(address, key, {
      auth: { flowType, persistSession: false, autoRefreshToken: false, detectSessionInUrl: false, storage: memory() },
      global: { fetch: browser }
    })
  const administrator = async () => client({ key: await test.token({ service: true }) })

  return {
    ...test,
    smtp,
    client,
    enter: async (email, password = PASSWORD) =>
      (await client().auth.signInWithPassword({ email, password })).error?.code,
    administrator,
    letter: async () => read(await smtp.next()),
    async follow (link, browser = fetch) {
      const { status, headers } = await browser(link.replace(PUBLIC_URL, address), { redirect: 'manual' })
      const target = new URL(headers.get('location') ?? 'about:blank')
      return { status, target, fragment: new URLSearchParams(target.hash.slice(1)) }
    },
    async forgetCounts () {
      await test.app.sql`delete from counters`
    },
    async person (email, changes = {}) {
      const { auth: { admin } } = await administrator()
      const password = 'password' in changes ? {} : await withPassword(test.app)
      const { data, error } = await admin.createUser({ email, ...password, email_confirm: true, ...changes })
      if (error) throw error
      return data.user.id
    }
  }
}

/** A browser on the service's site. It stores cookies, and sends them with later requests. */
export function newBrowser (): typeof fetch {
  let cookie = ''
  return async (input, init) => {
    const headers = new Headers(init?.headers)
    if (cookie !== '') headers.set('cookie', cookie)
    const response = await fetch(input, { ...init, headers })
    for (const set of response.headers.getSetCookie()) cookie = set.split(';', 1)[0]!
    return response
  }
}

/** The secrets of a mail, as its reader finds them. */
export function read ({ envelope, text }: Received): Letter {
  const link = /https?:\S+/.exec(text)?.[0] ?? ''
  return {
    to: envelope.to.join(),
    code: /^\d{6}$/m.exec(text)?.[0] ?? '',
    link,
    token: link === '' ? '' : (new URL(link).searchParams.get('token') ?? '')
  }
}

/** A code other than this one. */
export function wrong (code: string): string {
  return String((Number(code) + 1) % 1_000_000).padStart(6, '0')
}

/** The parts of a response that do not change between requests. */
export function looks ({ statusCode: status, body, headers }: LightMyRequestResponse) {
  return {
    status,
    body: body.replace(/after \d+ seconds/, 'after some seconds'),
    headers: {
      ...headers,
      'x-request-id': '',
      date: '',
      'ratelimit-remaining': '',
      'ratelimit-reset': '',
      'retry-after': 'retry-after' in headers
    }
  }
}

function memory () {
  const items = new Map<string, string>()
  return {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => { items.set(key, value) },
    removeItem: (key: string) => { items.delete(key) }
  }
}
