import fc from 'fast-check'
import type { RouteOptions } from 'fastify'
import t from 'tap'
import { AuthErrorBody } from '#schemas/auth/errors.ts'
import { createAjv } from '#src/plugins/validation.ts'
import { signIn } from '#test/helper.ts'
import { site } from '#test/identity/mail/mailbox.ts'
import type { Schema } from '#test/schema-walk.ts'
import { hostileText, likelyBody, likelyQuery } from './hostile.ts'

/** For each route that reads a body or a query. */
const RUNS = Number(process.env.FUZZ_RUNS ?? 12)
/** For the others, which look at who asks, and at most at one parameter. */
const FEW = Math.ceil(RUNS / 4)
/** What only this side of the wire knows. */
const INSIDE =
  /select |insert |SQLSTATE|Failed query|drizzle|postgres|node_modules|\.ts:\d|TypeError|RangeError|\bat \w+ \(/i

const isError = createAjv({}).compile(AuthErrorBody)

t.test(
  'no request to a route of the provider causes a 5xx, and no answer tells anything of the inside',
  async (t) => {
    const routes: RouteOptions[] = []
    const { app, token, logs } = await site(
      t,
      { RATE_LIMIT_MAX: '100000000', RATE_LIMIT_LOGIN_MAX: '1000000' },
      (app) => {
        app.addHook('onRoute', (route) => {
          if (route.url.startsWith('/auth/v1/') && route.method !== 'HEAD') routes.push(route)
        })
      }
    )
    const {
      user: {
        id,
        identities: [identity]
      }
    } = await signIn(app, 'amministratrice', 'admin')
    const service = await token({ service: true })
    t.ok(routes.length > 15)
    const statuses = new Map<string, Set<number>>()
    let session: string | undefined

    for (const { method, url, config, schema = {} } of routes) {
      const name = `${String(method)} ${url}`
      const seen = new Set<number>()
      statuses.set(name, seen)
      const sends = method !== 'GET'
      const request = fc.record({
        param: fc.oneof(
          hostileText.map((text) => encodeURIComponent(text.toWellFormed())),
          fc.uuid(),
          fc.constantFrom('%', '%00', '%ff', '%2f', id, id, identity!.identity_id)
        ),
        query: likelyQuery(schema.querystring as Schema | undefined),
        body: sends ? likelyBody(schema.body as Schema | undefined) : fc.constant(undefined),
        type: fc.oneof(
          { weight: 9, arbitrary: fc.constant('application/json') },
          {
            weight: 1,
            arbitrary: fc.constantFrom(
              'application/json; charset=utf-16',
              'text/plain',
              'application/x-www-form-urlencoded',
              undefined
            )
          }
        ),
        by: fc.oneof(
          { weight: 9, arbitrary: fc.constant(config?.access === 'admin' ? 'service' : 'person') },
          { weight: 1, arbitrary: fc.constantFrom('person', 'service', 'nobody', 'forged') }
        ),
        version: fc.constantFrom<string | undefined>(
          undefined,
          '2024-01-01',
          '2024-01-01, 2024-01-01',
          '9',
          'zzzz',
          '2024-1-1',
          '\u00ff'
        )
      })
      const bearerOf = async (by: string): Promise<string | undefined> => {
        if (by === 'person') return (session ??= (await signIn(app, 'anna', 'operator')).access_token)
        return new Map([
          ['service', service],
          ['forged', `${service}x`]
        ]).get(by)
      }
      await fc.assert(
        fc.asyncProperty(request, async ({ param, query, body, type, by, version }) => {
          const bearer = await bearerOf(by)
          const answer = await app.inject({
            method: method as 'GET',
            url: url.replace(/:\w+/, param) + query,
            headers: given({
              authorization: bearer === undefined ? undefined : `Bearer ${bearer}`,
              'content-type': body === undefined ? undefined : type,
              'x-supabase-api-version': version
            }),
            ...(body === undefined ? {} : { payload: body })
          })
          const { statusCode, headers, payload } = answer
          seen.add(statusCode)
          session = stillGood(session, method, statusCode)
          const where = `${name} ${statusCode} ${payload.slice(0, 300)}`
          if (statusCode >= 500) throw new Error(where)
          if (INSIDE.test(payload)) throw new Error(`it says too much: ${where}`)
          if (statusCode < 400) return
          // What the router itself refuses never comes to a route.
          if (headers['x-sb-error-code'] === undefined) {
            if (answer.json<{ codice?: string }>().codice === undefined) {
              throw new Error(`no error of anybody's: ${where}`)
            }
            const isRefused = url.includes(':') && (param === '' || param.length > 300 || /[%/]/.test(param))
            if (!isRefused) throw new Error(`not in the words of the protocol: ${where}`)
            return
          }
          if (!isError(answer.json())) throw new Error(`not an error of the protocol: ${where}`)
          const isShort = version === '2024-01-01'
          if ('message' in answer.json<object>() !== isShort) throw new Error(`the wrong form: ${where}`)
        }),
        { numRuns: schema.body === undefined && schema.querystring === undefined ? FEW : RUNS }
      )
    }
    t.comment([...statuses].map(([name, seen]) => `${name}: ${[...seen].sort().join(' ')}`).join('\n'))
    t.same(
      logs.filter(({ level }) => Number(level) >= 50),
      [],
      'nothing was logged as a failure'
    )
  }
)

/** The session, unless it may be over after such an answer. */
function stillGood (session: string | undefined, method: RouteOptions['method'], status: number): string | undefined {
  const mayBeOver = status === 401 || status === 403 || (status < 400 && method !== 'GET')
  return mayBeOver ? undefined : session
}

/** Those that have a value. */
function given (headers: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
  )
}
