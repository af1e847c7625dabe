import { createClient, type AuthChangeEvent, type SupabaseClient } from '@supabase/supabase-js'
import type { Test } from 'tap'
import type { Directory } from '#src/identity/directory.ts'
import { site } from '#test/cli/site.ts'
import type { TestApp } from '#test/helper.ts'
import { createPerson, PASSWORD } from '#test/identity/shared-password.ts'

type ClientConfig = Directory['clientConfig']

export { PASSWORD } from '#test/identity/shared-password.ts'

/** A request of the official client, and the response. */
interface Exchange {
  /** Method and path with its query, without `/auth/v1`. */
  request: string
  headers: Headers
  sent: string
  status: number
  answer: string
}

/** The official client, unmodified, with its own storage and a record of its requests. */
export interface Client {
  auth: SupabaseClient['auth']
  exchanges: Exchange[]
  events: AuthChangeEvent[]
  /** The storage of the client's session. */
  storage: Map<string, string>
}

interface ClientOptions {
  /** Replaces the anonymous key. */
  key?: string
  /** The `Authorization` header, instead of the one for the key. */
  authorization?: string
}

export interface Person { id: string, email: string }

export interface Provider extends TestApp {
  url: string
  open (options?: ClientOptions): Client
  /** Creates a person who can sign in with `PASSWORD`, as an administrator's client does. */
  person (changes?: object): Promise<Person>
  /** A client that is signed in as the person. */
  signedIn (person: Person): Promise<Client>
}

/** A client of the provider at a URL. */
export function openClient (
  t: Test,
  { backendUrl, backendKey }: ClientConfig,
  { key = backendKey, authorization }: ClientOptions = {}
): Client {
  const exchanges: Exchange[] = []
  const events: AuthChangeEvent[] = []
  const storage = new Map<string, string>()
  const { auth } = createClient(backendUrl, key, {
    auth: {
      autoRefreshToken: false,
      storageKey: 'session',
      experimental: { recoveryCodes: true },
      storage: {
        getItem: (name) => storage.get(name) ?? null,
        setItem: (name, value) => {
          storage.set(name, value)
        },
        removeItem: (name) => {
          storage.delete(name)
        }
      }
    },
    global: {
      ...(authorization === undefined ? {} : { headers: { Authorization: authorization } }),
      async fetch (input, init) {
        const url = input instanceof Request ? input.url : String(input)
        const response = await fetch(input, init)
        const answer = await response.clone().text()
        const request = `${init?.method ?? 'GET'} ${url.replace(`${backendUrl}/auth/v1`, '')}`
        exchanges.push({
          request,
          headers: new Headers(init?.headers),
          sent: typeof init?.body === 'string' ? init.body : '',
          status: response.status,
          answer
        })
        // The official client treats any other body as a network failure. It ignores the body of a logout.
        if (response.ok && !request.startsWith('POST /logout') && !isJson(answer)) {
          t.fail(`${request} ${response.status}: not JSON`, { answer })
        }
        return response
      }
    }
  })
  const { data: { subscription } } = auth.onAuthStateChange((event) => {
    events.push(event)
  })
  t.teardown(() => subscription.unsubscribe())
  return { auth, exchanges, events, storage }
}

/** The embedded provider, listening at its public URL. */
export async function provider (t: Test, environ: Record<string, string> = {}): Promise<Provider> {
  const server = await site(t, { RATE_LIMIT_LOGIN_MAX: '100000', ...environ })
  const { url } = server
  const clientConfig = await (await fetch(`${url}/api/config`)).json() as ClientConfig
  let people = 0
  const open = (options?: ClientOptions) => openClient(t, clientConfig, options)
  return {
    ...server,
    open,

    person: async (changes) => await createPerson(server, `persona${++people}@example.org`, changes),

    async signedIn ({ email }) {
      const client = open()
      const { error } = await client.auth.signInWithPassword({ email, password: PASSWORD })
      if (error) throw error
      client.exchanges.length = 0
      return client
    }
  }
}

/** The tokens of a client. */
export async function tokensOf ({ auth }: Client): Promise<{ access: string, refresh: string }> {
  const { data: { session } } = await auth.getSession()
  if (!session) throw new Error('the client is signed out')
  return { access: session.access_token, refresh: session.refresh_token }
}

/** The requests that a client has recorded. */
export function requests ({ exchanges }: Client): string[] {
  return exchanges.map(({ request }) => request)
}

function isJson (text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
