import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import type { AuthSession } from '#schemas/auth/session.ts'
import { build as buildApp, type BuildOptions } from '#src/app.ts'
import { readConfig } from '#src/config/config.ts'
import { serviceKey } from '#src/identity/tokens/machine-tokens.ts'
import type { Role } from '#src/identity/people/roles.ts'
import { sessionResponse } from '#src/identity/sign-in/session-response.ts'
import { beginSession } from '#src/identity/sign-in/person-sessions.ts'
import { findUser } from '#src/identity/people/find-users.ts'
import { createUser } from '#src/identity/people/users.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { testClock } from './clock.ts'
import { testDatabase } from './database.ts'
import { validateResponses } from './response-validation.ts'

export const API_KEY = 'chiave-di-prova-0123456789'
/** A busy machine may pause a process for seconds, but the process must not reject requests. */
export const NEVER_OVERLOADED = { OVERLOAD_AFTER_MS: '120000' }
/** The disk of the machine may be nearly full during tests. */
export const NO_DISK_RESERVE = { DISK_RESERVE_MIB: '0' }
/** Timeouts for other processes that must confirm a change, and for Redis, on a busy machine. */
const PATIENT = { listenersMs: 20_000, redisResponseMs: 20_000 }

type Environ = Record<string, string | undefined>

/** The master key of the first application on each database. The database accepts no other key. */
const masterKeys = new Map<string, string>()

/** Sets the key of a database that was filled without an application. */
export function writtenWith (url: string, masterKey: Buffer): void {
  masterKeys.set(url, masterKey.toString('base64'))
}

/** A person. The same name is the same person, with another session. */
export interface Who {
  name?: string
  role?: Role
  service?: boolean
}

/** An application under test and its callers. */
export interface TestApp {
  app: FastifyInstance
  /** The database's URL, for a second application on the same database. */
  url: string
  dataDir: string
  /** The master key in base64. */
  masterKey: string
  /** The parsed log lines so far. */
  logs: Record<string, unknown>[]
  /** Sends a request with the server's API key. A body is sent as JSON. */
  call(
    method: InjectOptions['method'],
    url: string,
    body?: object,
    headers?: Record<string, string>
  ): Promise<LightMyRequestResponse>
  /** An access token of a person who has just signed in (an operator by default), or the service key with `service`. */
  token(who?: Who): Promise<string>
}

/**
 * The application as the server builds it, on the test's own database (or that of `DATABASE_URL`). Every payload is
 * validated with its schema, and no job runs on schedule. It closes when the test ends. `prepare` gets the instance
 * first. A further application uses the key of the first one on its database, unless it has its own folder or key.
 */
export async function build (
  t: Test,
  environ: Environ = {},
  prepare?: (app: FastifyInstance) => void,
  options: Pick<
    BuildOptions, 'descriptors' | 'processFigures' | 'clock' | 'times' | 'wrapBackend'
  > = {}
): Promise<TestApp> {
  const dataDir = environ.DATA_DIR ?? temporaryFolder(t)
  const url = environ.DATABASE_URL ?? (await testDatabase(t)).url
  const config = readConfig({
    API_KEY,
    LOG_LEVEL: 'info',
    PORT: '0',
    RATE_LIMIT_MAX: '100000',
    RATE_LIMIT_HEAVY_MAX: '100000',
    ...NEVER_OVERLOADED,
    ...NO_DISK_RESERVE,
    ...(environ.DATA_DIR === undefined ? { MASTER_KEY: masterKeys.get(url) } : {}),
    ...environ,
    DATA_DIR: dataDir,
    DATABASE_URL: url
  })
  const masterKey = config.MASTER_KEY.toString('base64')
  masterKeys.set(url, masterKey)
  const logs: Record<string, unknown>[] = []
  const logStream = {
    write: (line: string) => {
      logs.push(JSON.parse(line) as Record<string, unknown>)
    }
  }
  const check = validateResponses(t)
  const app = await buildApp({
    clock: testClock(config.TODAY),
    ...options,
    times: { ...PATIENT, ...options.times },
    config,
    logStream,
    prepare: (app) => {
      check(app)
      prepare?.(app)
    }
  })
  t.teardown(() => app.close())
  return {
    app,
    url,
    dataDir,
    masterKey,
    logs,
    call: (method = 'GET', url, body, headers = {}) =>
      app.inject({
        method,
        url,
        headers: { 'x-api-key': API_KEY, ...headers },
        ...(body === undefined ? {} : { payload: body })
      }),
    token: async ({ name = 'operatore', role = 'operator', service = false } = {}) => {
      if (service) return serviceKey(config, createKeys(config.MASTER_KEY))
      const { access_token: token } = await signIn(app, name, role)
      return token
    }
  }
}

/** Starts a session for a person. A new person is created without a password, because hashing is slow. */
export async function signIn (app: FastifyInstance, name: string, role: Role): Promise<AuthSession> {
  const email = `${name}@example.org`
  const { user, session } = await app.db.transaction(async (tx) => {
    const person =
      (await findUser(tx, { email })) ??
      (await createUser(tx, { email, confirmed: true, app_metadata: { role }, user_metadata: { name } }))
    return await beginSession(tx, person, 'password', { ip: '127.0.0.1', user_agent: 'prova' })
  })
  return await sessionResponse(app.identity.signer, user, session)
}

/**
 * Adds routes for a test (`prepare`). They are registered together with the areas, after all plugins that guard or
 * describe routes.
 */
export function extraRoutes (register: (app: FastifyInstance) => void): (app: FastifyInstance) => void {
  return (app) => {
    app.addHook('onRegister', (instance) => {
      if (instance.pluginName === 'identity') register(instance)
    })
  }
}

/** A temporary folder, which is deleted when the test ends. */
export function temporaryFolder (t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'locanda-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
