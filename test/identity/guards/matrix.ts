import type { RouteOptions } from 'fastify'
import type { Test } from 'tap'
import { SCOPES } from '#schemas/api-key.ts'
import type { Access } from '#src/http/auth.ts'
import { build } from '#test/helper.ts'
import { listen } from '#test/raw.ts'
import { callers, type Caller, type Guarded } from './callers.ts'
import { rawClient } from './raw-client.ts'
import { SPELLINGS, type Spelling } from './spellings.ts'

const ACCEPTED = 299
const REFUSED = new Set([400, 401, 403, 404, 405, 414])
/**
 * Callers who may call some route with access `auth` request every route. Each other caller requests one route in
 * `ROTATION`, and the first route of each kind. HEAD routes belong to GET routes, so this holds for every caller there.
 */
const ROTATION = 4
/** One of `SHARE` callers requests each further spelling of a URL. Callers rotate, so each uses all spellings. */
const SHARE = 100

const ADMINISTRATION: Guarded = { access: 'admin', scope: 'amministrazione', bearerKey: false }

interface Route extends Guarded { method: string, url: string }

/**
 * Checks that routes accept exactly their callers, and that no other spelling of a URL lets a caller pass a guard. Each
 * route is tried with a part of the credentials and spellings.
 */
export async function checkGuards (t: Test): Promise<void> {
  const all: RouteOptions[] = []
  const test = await build(t, { RATE_LIMIT_MAX: '100000000', LOG_LEVEL: 'silent' }, (app) => {
    app.addHook('onRoute', (route) => {
      all.push(route)
    })
    // Runs after the guards and before any work. The response names the route that the request reached.
    app.addHook('preParsing', async ({ method, principal, routeOptions: { url, config } }, reply) => {
      if (url === undefined) return
      return await reply.code(ACCEPTED).headers({
        'x-reached': `${method} ${url}`,
        'x-access': config.access,
        'x-scope': config.scope,
        'x-bearer-key': String(config.bearerKey === true),
        'x-admin': String(principal?.admin === true)
      })
        .type('text/plain')
        .send('entrato')
    })
  })
  const routes = all.flatMap(({ method, url, config }): Route[] => {
    const { access, scope, bearerKey = false } = config ?? {}
    return access === undefined || scope === undefined
      ? []
      : [method].flat().map((each) => ({ method: each, url, access, scope, bearerKey }))
  })
  const everybody = await callers(test)
  const client = rawClient(await listen(test.app))
  t.teardown(() => client.close())
  t.ok(routes.length > 60 && everybody.length > 25 && SPELLINGS.length >= 25, 'there are routes to check')

  const count = { checks: 0, accepted: 0 }
  const failures: string[] = []
  /** The number of earlier routes of each kind. */
  const before = new Map<string, number>()
  const pairs = new Set<string>()
  let routeNumber = 0
  for (const route of routes) {
    const isHead = route.method === 'HEAD'
    const kind = [isHead, route.access, route.scope, route.bearerKey].join()
    const k = before.get(kind) ?? 0
    before.set(kind, k + 1)
    if (!isHead) routeNumber++
    for (const [c, caller] of everybody.entries()) {
      const isInTurn = k === 0 || (k + c) % ROTATION === 0 || (!isHead && isEverAccepted(caller))
      for (const [s, spelling] of SPELLINGS.entries()) {
        if (s === 0 ? !isInTurn : isHead || (routeNumber + c + s) % SHARE !== 0) continue
        pairs.add(`${c} ${s}`)
        await check(route, caller, spelling)
      }
    }
  }
  t.equal(pairs.size, everybody.length * SPELLINGS.length, 'every caller uses every spelling')
  t.same(failures, [])
  t.ok(count.accepted > 1000, 'permitted callers are accepted')
  t.comment(
    `guard matrix: ${routes.length} routes x ${everybody.length} credentials x ${SPELLINGS.length} spellings, ` +
      `in turns: ${count.checks} requests, ${count.accepted} accepted, ${failures.length} failures`
  )

  async function check (route: Route, caller: Caller, { name, path, headers }: Spelling) {
    const spelled = path(route.url.replace(/:\w+/g, '1').replace('*', 'x'))
    const query = caller.query === undefined ? '' : `${spelled.includes('?') ? '&' : '?'}${caller.query}`
    const [address, fragment] = spelled.split('#')
    const { status, headers: got } = await client.send(
      route.method,
      address + query + (fragment === undefined ? '' : `#${fragment}`),
      { ...caller.headers, ...headers }
    )
    count.checks++
    const where = `${route.method} ${spelled} (${name}) by ${caller.name}: ${status}`
    if (status === ACCEPTED) {
      count.accepted++
      const reached: Guarded = {
        access: got.get('x-access') as Access,
        scope: got.get('x-scope') as Guarded['scope'],
        bearerKey: got.get('x-bearer-key') === 'true'
      }
      if (!caller.mayCall(reached)) failures.push(`${where}, reached ${got.get('x-reached')}`)
      // Handlers that show more to administrators use the principal's right.
      if (got.get('x-admin') === 'true' && !caller.mayCall(ADMINISTRATION)) {
        failures.push(`${where}, as an administrator`)
      }
    } else if (!REFUSED.has(status)) {
      failures.push(where)
    } else if (name === 'as it is' && status !== expected(route, caller)) {
      failures.push(`${where}, not ${expected(route, caller)}`)
    }
  }
}

function isEverAccepted ({ mayCall }: Caller): boolean {
  return SCOPES.some((scope) => mayCall({ access: 'auth', scope, bearerKey: true }))
}

/** The status for an unchanged URL: 401 for unknown callers, and 403 for known ones without the right. */
function expected ({ access, scope, bearerKey, url }: Route, caller: Caller): number {
  if (caller.mayCall({ access, scope, bearerKey })) return ACCEPTED
  const isKnown = caller.mayCall({ access: 'user', scope, bearerKey: false }) ||
    SCOPES.some((each) => caller.mayCall({ access: 'auth', scope: each, bearerKey: false }))
  if (access === 'cookie' || !isKnown) return url.startsWith('/auth/v1/') && hasBearer(caller) ? 403 : 401
  return 403
}

/** The routes of the provider answer 403 to a token without access, such as the anonymous key, and 401 to none. */
function hasBearer ({ headers: { authorization } }: Caller): boolean {
  return authorization !== undefined && authorization.startsWith('Bearer ')
}
