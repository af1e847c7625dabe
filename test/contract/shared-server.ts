import type { InjectOptions, LightMyRequestResponse, RouteOptions } from 'fastify'
import type { Test } from 'tap'
import { API_KEY, build, extraRoutes, signIn, type TestApp } from '#test/helper.ts'
import { startSmtp, type Smtp } from '#test/smtp.ts'
import { PROMISES, type RowId } from './rows.ts'

export const TODAY = '2026-11-23'
export const QUERY_PASSWORD = 'una-frase-per-la-console'
export const PUBLIC_URL = 'https://locanda.example'

type Method = InjectOptions['method']
/** Sends a request as one of the callers. A body is sent as JSON. */
type CallerRequest = (
  method: Method, url: string, body?: object, headers?: Record<string, string>
) => Promise<LightMyRequestResponse>

/** The server that all rows share, and its callers. */
export interface SharedServer extends TestApp {
  t: Test
  smtp: Smtp
  /** Sends requests with the server's API key, like most machines. */
  key: CallerRequest
  admin: CallerRequest
  operator: CallerRequest
  nobody: CallerRequest
  /** The id of the operator. */
  operatorId: string
}

/** Runs the test of a row. */
export type Prove = (row: RowId, work: (t: Test) => Promise<void>) => Promise<void>

/** Starts the shared server. @param see called with every route that is added */
export async function startSharedServer (
  t: Test, see: (route: RouteOptions) => void = () => {}
): Promise<SharedServer> {
  const failing = extraRoutes((app) => {
    app.get('/prova/guasto', { config: { access: 'public' }, schema: { hide: true } }, async () => {
      throw new TypeError('guasto di prova')
    })
  })
  const smtp = await startSmtp(t)
  const server = await build(t, {
    TODAY, QUERY_PASSWORD, PUBLIC_URL, SMTP_URL: smtp.url, MAIL_FROM: 'locanda@example.org', HOSTING_DEPLOY: 'prova'
  }, (app) => {
    app.addHook('onRoute', see)
    failing(app)
  })
  const { app } = server
  const asCaller = (credentials: Record<string, string>): CallerRequest => (method = 'GET', url, payload, headers) =>
    app.inject({ method, url, headers: { ...credentials, ...headers }, ...(payload && { payload }) })
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  const anna = await signIn(app, 'anna', 'operator')
  return {
    ...server,
    t,
    smtp,
    key: asCaller({ 'x-api-key': API_KEY }),
    admin: asCaller(bearer((await signIn(app, 'capo', 'admin')).access_token)),
    operator: asCaller(bearer(anna.access_token)),
    nobody: asCaller({}),
    operatorId: anna.user.id
  }
}

/** Gives each row's test its title, and records which rows have a test. */
export function prover (t: Test): { prove: Prove, proven: RowId[] } {
  const proven: RowId[] = []
  return {
    proven,
    prove: async (row, work) => {
      proven.push(row)
      await t.test(`${row} ${PROMISES[row]}`, work)
    }
  }
}
