import type { RouteOptions } from 'fastify'
import t from 'tap'
import { API_KEY, build } from '#test/helper.ts'
import { exchange, listen, target } from '#test/raw.ts'

/** Other ways to write a path that something on the way might take for the same. */
const SPELLINGS: Readonly<Record<string, (path: string) => string>> = {
  'as it is': (path) => path,
  'a letter percent-encoded': (path) => path.replace('api', '%61pi'),
  'all letters percent-encoded': (path) => path.replace(/[a-z]/gi, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  'encoded twice': (path) => path.replace('api', '%2561pi'),
  'encoded slashes': (path) => '/' + path.slice(1).replaceAll('/', '%2f'),
  'doubled slashes': (path) => path.replaceAll('/', '//'),
  'a dot segment': (path) => path.replace('/api', '/./api'),
  'a way down and up': (path) => `/health/..${path}`,
  'an encoded way down and up': (path) => `/docs/%2e%2e${path}`,
  'from a public page': (path) => `/docs/static/..%2f..${path}`,
  'a path parameter': (path) => `${path};a=b`,
  'a path parameter inside': (path) => path.replace('/api', '/api;x'),
  'a trailing slash': (path) => `${path}/`,
  'a trailing dot': (path) => `${path}.`,
  'upper case': (path) => path.toUpperCase(),
  'a NUL': (path) => `${path}%00`,
  'a backslash': (path) => path.replaceAll('/', '\\').replace('\\', '/'),
  'a query': (path) => `${path}?x=1`,
  'a query with another path': (path) => `${path}?/health/live`,
  'a fragment': (path) => `${path}#/health/live`,
  'absolute form': (path) => `http://localhost${path}`,
  'absolute form, other host': (path) => `http://127.0.0.1:1${path}`,
  'absolute form with user': (path) => `http://${API_KEY}@localhost${path}`
}

/** Headers with which something on the way might change method, address or caller. */
const HEADERS: Readonly<Record<string, string>> = {
  'x-http-method-override': 'GET',
  'x-http-method': 'GET',
  'x-method-override': 'GET',
  'x-original-url': '/health/live',
  'x-rewrite-url': '/health/live',
  'x-forwarded-for': '127.0.0.1',
  'x-forwarded-prefix': '/health',
  'x-forwarded-user': 'server',
  'x-user': 'admin'
}

t.test('however its address is written, a guarded route is not reached without credentials', async (t) => {
  const routes: RouteOptions[] = []
  const reached: string[] = []
  const { app } = await build(t, {}, (app) => {
    app.addHook('onRoute', (route) => { routes.push(route) })
    app.addHook('preHandler', async ({ routeOptions }) => {
      if (routeOptions.config.access !== 'public' && routeOptions.url !== undefined) reached.push(`${String(routeOptions.method)} ${routeOptions.url}`)
    })
  })
  const port = await listen(app)
  const guarded = routes.filter(({ config, method }) => (config?.access === 'auth' || config?.access === 'admin') && method !== 'OPTIONS')
  t.ok(guarded.length > 20)

  for (const { method, url } of guarded) {
    const path = url.replace(/:\w+/, '1')
    const answers = await Promise.all(Object.entries(SPELLINGS).map(async ([name, spell]) => {
      const { status } = await exchange(port, target(String(method), spell(path)))
      return { name, status }
    }))
    t.same(answers.filter(({ status }) => ![400, 401, 404, 405].includes(status)), [], `${String(method)} ${path}`)
    t.equal(answers[0]?.status, 401)
  }
  t.same(reached, [])
})

t.test('headers that claim another method, address or caller change nothing', async (t) => {
  const { app } = await build(t)
  const port = await listen(app)
  for (const [name, value] of Object.entries(HEADERS)) {
    t.equal((await exchange(port, target('GET', '/api/v1/prenotazioni', { [name]: value }))).status, 401, name)
    t.equal((await exchange(port, target('DELETE', '/api/v1/prenotazioni', { [name]: value, 'x-api-key': API_KEY }))).status, 405, `${name} with the key`)
    t.equal((await exchange(port, target('GET', '/nulla', { [name]: value }))).status, 404, `${name} elsewhere`)
  }
})
