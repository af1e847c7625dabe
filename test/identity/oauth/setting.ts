import { asc } from 'drizzle-orm'
import type { FastifyInstance } from 'fastify'
import { createClient, type SupabaseClient, type SupabaseClientOptions } from '@supabase/supabase-js'
import type { Configuration } from 'oidc-provider'
import type { Test } from 'tap'
import { audit_log } from '#drizzle/tables/audit.ts'
import { build, type TestApp } from '#test/helper.ts'
import { browser, type Browser, type Stop } from './oauth-browser.ts'
import { CLIENT, startOpenidProvider, type OpenidProvider } from './openid-provider.ts'
import { freePort } from '#test/free-port.ts'

export const FRONT_END = 'https://app.example'
export const LANDING = `${FRONT_END}/arrivo?pagina=1`

/** The application at its public URL, and an OpenID provider with the name `google`. */
export interface Setting extends TestApp {
  base: string
  provider: OpenidProvider
  browser (): Browser
  /** The official client, with a separate storage. */
  client (flowType?: 'pkce' | 'implicit', options?: SupabaseClientOptions<'public'>['auth']): SupabaseClient
  /** Opens a path, and follows the redirects to the provider and back, without the client. */
  visit (path: string): Promise<Stop>
}

/** Settings for `SIGNUP_ENABLED`, which requires a mail server. No mail is sent. */
export const SIGNUP = {
  SIGNUP_ENABLED: 'true', SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'Locanda <noreply@example.org>'
}

interface SettingOptions {
  /** Further providers, or other fields of `google` by its name. */
  providers?: Record<string, string>[]
  openid?: Configuration
  prepare?: (app: FastifyInstance) => void
}

export async function setting (
  t: Test,
  environ: Record<string, string> = {},
  options: SettingOptions = {}
): Promise<Setting> {
  const { providers: more = [], openid, prepare } = options
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const provider = await startOpenidProvider(t, `${base}/auth/v1/callback`, openid)
  const own = { name: 'google', issuer: provider.issuer, ...CLIENT, ...more.find(({ name }) => name === 'google') }
  const providers = [own, ...more.filter(({ name }) => name !== 'google')]
  const whole = { PUBLIC_URL: base, CORS_ORIGINS: FRONT_END, OAUTH_PROVIDERS: JSON.stringify(providers), ...environ }
  const built = await build(t, whole, prepare)
  await built.app.listen({ port })
  const { backendKey } = (await built.app.inject('/api/config')).json<{ backendKey: string }>()
  const client: Setting['client'] = (flowType = 'pkce', more = {}) =>
    createClient(base, backendKey, {
      auth: {
        flowType, persistSession: true, autoRefreshToken: false, detectSessionInUrl: false, storage: memory(), ...more
      }
    })
  return {
    ...built,
    base,
    provider,
    client,
    browser: () => browser(FRONT_END),
    visit: async (path) => await browser(FRONT_END).go(`${base}${path}`)
  }
}

/** Parameters of a fragment. */
export function fragment ({ hash }: URL): URLSearchParams {
  return new URLSearchParams(hash.slice(1))
}

/** The audited actions, oldest first. */
export async function acts (app: FastifyInstance): Promise<{ action: string, actor: string, details: unknown }[]> {
  const { action, actor, details } = audit_log
  return await app.db.select({ action, actor, details }).from(audit_log).orderBy(asc(audit_log.id))
}

/** Deletes the users of earlier tests. @returns a function that reads the actions audited since */
export async function anew ({ app }: Setting): Promise<() => ReturnType<typeof acts>> {
  await app.sql`delete from users`
  await app.sql`delete from flow_states`
  const before = (await acts(app)).length
  return async () => (await acts(app)).slice(before)
}

function memory () {
  const items = new Map<string, string>()
  return {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => { items.set(key, value) },
    removeItem: (key: string) => { items.delete(key) }
  }
}
