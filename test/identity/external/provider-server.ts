import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { testDatabase } from '#test/database.ts'
import { build, type TestApp } from '#test/helper.ts'
import { serverProcess, type ServerProcess } from '#test/server-process.ts'
import { freePort } from '#test/free-port.ts'

/** A server of ours, with its embedded provider, in a process and on a database of its own. */
export interface Provider {
  url: string
  anonKey: string
  serviceKey: string
  master: Buffer
  /** Another instance of the same provider, in this process: people sign in here without a password. */
  twin: TestApp
  /** What its settings are to a server that uses it. */
  environ: Record<string, string>
  /** A call with its service key. */
  admin (method: string, path: string, body?: object): Promise<unknown>
  signIn (email: string, password: string): Promise<{ access_token: string }>
  /** It is gone at once. */
  stop (): Promise<void>
  start (): Promise<void>
}

export async function startProvider (t: Test): Promise<Provider> {
  const { url: DATABASE_URL } = await testDatabase(t)
  const master = randomBytes(32)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const environ = {
    DATABASE_URL,
    MASTER_KEY: master.toString('base64'),
    PUBLIC_URL: url,
    RATE_LIMIT_MAX: '100000',
    RATE_LIMIT_LOGIN_MAX: '1000'
  }
  let server: ServerProcess | undefined
  const start = async () => {
    server = serverProcess(t, { ...environ, PORT: String(port) })
    await server.ready
  }
  const [twin] = await Promise.all([build(t, environ), start()])
  const serviceKey = await twin.token({ service: true })
  const { backendKey: anonKey } = twin.app.identity.directory.clientConfig

  const post = async (method: string, path: string, key: string, body?: object) => {
    const headers = { apikey: key, authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const answer = await fetch(`${url}/auth/v1${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status}`)
    return await answer.json() as unknown
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
      server!.signal('SIGKILL')
      await server!.exit
    },
    start
  }
}

/**
 * For `build`: on a busy machine the provider's process may need longer for an answer than the server waits in
 * production.
 */
export const PATIENT = { idpTimeoutMs: 120_000 }
