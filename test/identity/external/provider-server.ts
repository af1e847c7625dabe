import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Test } from 'tap'
import { createUser } from '#src/identity/people/users.ts'
import { build, type TestApp } from '#test/helper.ts'
import { freePort } from '#test/free-port.ts'

/**
 * A Locanda server with its embedded provider, on its own database and port. It runs in this process, because another
 * process would load all modules again. The server under test knows only its URL.
 */
export interface Provider {
  url: string
  anonKey: string
  serviceKey: string
  master: Buffer
  /** The provider's application, usable even with a closed port. Tests sign users in here without a password. */
  twin: TestApp
  /** The settings of a server that uses this provider. */
  environ: Record<string, string>
  /** A call with its service key. */
  admin (method: string, path: string, body?: object): Promise<unknown>
  signIn (email: string, password: string): Promise<{ access_token: string }>
  /** Stops the provider at once. */
  stop (): Promise<void>
  start (): Promise<void>
}

export async function startProvider (t: Test): Promise<Provider> {
  const master = randomBytes(32)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const twin = await build(t, {
    MASTER_KEY: master.toString('base64'), PUBLIC_URL: url, RATE_LIMIT_MAX: '100000', RATE_LIMIT_LOGIN_MAX: '1000'
  })
  // The first administrator, created as a server does. The tests' own administrators are then never the last ones.
  const first = { email: 'admin@locanda.local', confirmed: true, app_metadata: { role: 'admin' } }
  await twin.app.db.transaction((tx) => createUser(tx, first))
  await twin.app.listen({ host: '127.0.0.1', port })
  const { server } = twin.app
  const serviceKey = await twin.token({ service: true })
  const { backendKey: anonKey } = twin.app.identity.directory.clientConfig

  const post = async (method: string, path: string, key: string, body?: object) => {
    const headers = { apikey: key, authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const response = await fetch(`${url}/auth/v1${path}`, {
      method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`)
    return await response.json() as unknown
  }

  return {
    url,
    anonKey,
    serviceKey,
    master,
    twin,
    environ: { IDP_URL: url, IDP_ANON_KEY: anonKey, IDP_SERVICE_KEY: serviceKey },
    admin: (method, path, body) => post(method, path, serviceKey, body),
    signIn: async (email, password) =>
      (await post('POST', '/token?grant_type=password', anonKey, { email, password })) as { access_token: string },
    async stop () {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
    async start () {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    }
  }
}

/** For `build`: on a busy machine the provider may respond later than the production timeout. */
export const PATIENT = { times: { idpTimeoutMs: 120_000 } }
