import { createClient, type SupabaseClient } from '@supabase/supabase-js'
import type { Test } from 'tap'
import { build, type TestApp, type Who } from '#test/helper.ts'
import { listen } from '#test/raw.ts'

/** An application that listens, and official clients of it. */
export interface Served extends TestApp {
  url: string
  /** The address at which it listens. */
  base: string
  /** The official client, unmodified; without somebody it is not signed in, with `service` it has the service key. */
  client (who?: Who): Promise<SupabaseClient>
}

export async function serve (t: Test, environ: Record<string, string> = {}): Promise<Served> {
  const test = await build(t, environ)
  const base = `http://127.0.0.1:${await listen(test.app)}`
  const { backendKey } = test.app.identity.directory.clientConfig
  return {
    ...test,
    base,
    async client (who) {
      const headers: Record<string, string> =
        who === undefined ? {} : { authorization: `Bearer ${await test.token(who)}` }
      return createClient(base, backendKey, {
        auth: { persistSession: false, autoRefreshToken: false },
        global: { headers }
      })
    }
  }
}
