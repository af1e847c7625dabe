import { once } from 'node:events'
import { request as send } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { until } from '#test/alloggiati/stand-in.ts'
import { booking } from '#test/bookings/samples.ts'
import { CHROMIUM, openTab, type Tab } from '#test/chromium.ts'
import { freePort } from '#test/free-port.ts'
import type { Json } from '#test/fuzz/document.ts'
import { build } from '#test/helper.ts'
import { createPerson, PASSWORD } from '#test/identity/shared-password.ts'
import { serve } from '#test/loopback.ts'
import type { OpenApi } from '#test/openapi-shape.ts'
import { listen, openSocket, target } from '#test/raw.ts'

const HOST = 'locanda.test'

/**
 * Starts a proxy for the browser. It forwards requests for `HOST` to the application, and refuses all others, so that
 * no request leaves this machine. Browsers treat loopback addresses as secure, so the page needs another host name.
 */
async function startProxy (t: Test, port: number) {
  const asked: string[] = []
  const { url: server, server: proxy } = await serve(t, (request, response) => {
    const { hostname, pathname, search } = new URL(request.url ?? '')
    if (hostname !== HOST) {
      response.writeHead(502).end()
      return
    }
    asked.push(pathname)
    const forward = send(
      { host: '127.0.0.1', port, path: pathname + search, method: request.method, headers: request.headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      }
    )
    forward.on('error', () => response.destroy())
    request.pipe(forward)
  })
  proxy.on('connect', (_request, socket) => socket.destroy())
  return { server, asked }
}

/** The rendered page when it shows this number of operations, with the browser's errors and the requested URLs. */
async function dom (t: Test, url: string, proxy: string, operations: number) {
  const { send, evaluate, events } = await openTab(t, 'about:blank', {
    args: [
      `--proxy-server=${proxy}`, '--proxy-bypass-list=<-loopback>', '--disable-quic', '--disable-domain-reliability'
    ]
  })
  for (const domain of ['Page', 'Network', 'Log', 'Runtime']) await send(`${domain}.enable`)
  // The page renders only visible operations.
  await send('Emulation.setDeviceMetricsOverride', { width: 1280, height: 60_000, deviceScaleFactor: 1, mobile: false })
  await send('Page.navigate', { url })
  const shown = "document.querySelectorAll('.opblock [data-path]').length"
  // During a navigation no expression can be evaluated.
  await until(async () => await evaluate<number>(shown).catch(() => 0) >= operations)
  const of = (method: string) => events.filter((event) => event.method === method).map(({ params }) => params)
  return {
    html: await evaluate<string>('document.documentElement.outerHTML'),
    complaints: [
      ...of('Log.entryAdded').map(({ entry }) => entry as { level: string, text: string })
        .filter(({ level }) => level === 'error').map(({ text }) => text),
      ...of('Runtime.exceptionThrown').map((params) => JSON.stringify(params))
    ],
    requests: of('Network.requestWillBeSent').map(({ request }) => (request as { url: string }).url)
      .filter((each) => !each.startsWith('data:'))
  }
}

/** The server for the page and its files. */
const usual = await build(t)
const port = await listen(usual.app)

/** Environment of further servers on the same database. */
const SAME = { DATABASE_URL: usual.url, DATA_DIR: usual.dataDir }

const skip = CHROMIUM ? false : 'no Chromium is installed'

t.test(
  'in a browser over plain http, the page shows every operation and requests nothing from other hosts',
  { skip },
  async (t) => {
    const { app } = usual
    const proxy = await startProxy(t, port)
    const document: OpenApi = JSON.parse(JSON.stringify(app.swagger()))
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.values(methods).map(({ operationId }) => ({ path, operationId }))
    )
    t.ok(operations.length > 15)
    const { html, complaints, requests } =
      await dom(t, `http://${HOST}/docs`, proxy.server, operations.length)
    for (const { path, operationId } of operations) {
      t.match(html, `data-path="${path}"`, path)
      t.match(html, new RegExp(`id="operations-[^"]*-${operationId}"`), operationId)
    }
    t.match(html, '<title>Locanda · API</title>', 'the title of the page')
    t.match(html, 'operation-filter-input', 'a search field')
    t.same(complaints, [], 'no script, style or image was blocked')
    t.ok(requests.length > 3)
    t.same(requests.filter((request) => new URL(request).hostname !== HOST), [])
    t.ok(proxy.asked.includes('/docs/json'))
  }
)

t.test("the page's policy allows loading only from its own server, under the same scheme", async (t) => {
  const { app } = usual
  for (const url of [
    '/docs', '/docs/', '/docs/static/swagger-ui.css', '/docs/static/swagger-initializer.js', '/docs/json'
  ]) {
    const { statusCode, headers } = await app.inject(url)
    t.equal(statusCode, 200, url)
    const policy = String(headers['content-security-policy'])
    t.match(policy, "default-src 'none'")
    t.match(policy, "frame-ancestors 'none'")
    t.notMatch(policy, /https?:|upgrade-insecure|unsafe|\*|[a-z]\.[a-z]/)
  }
})

t.test('a caller gets 16 files of the page concurrently, and is disconnected when it does not read', async (t) => {
  const { app } = await build(t, SAME, undefined, { times: { stalledReaderMs: 500 } })
  const port = await listen(app)
  const bundle = '/docs/static/swagger-ui-bundle.js'
  const connections: Socket[] = []
  app.server.on('connection', (socket) => connections.push(socket))
  const arrived = Promise.withResolvers<void>()
  let requests = 0
  app.server.on('request', () => { if (++requests === 16) arrived.resolve() })
  for (let n = 0; n < 2; n++) {
    await openSocket(t, port, target('GET', bundle, { connection: 'keep-alive' }).repeat(8))
  }
  await arrived.promise
  const waiting = app.inject(bundle)
  t.equal((await app.inject({ url: bundle, remoteAddress: '198.51.100.7' })).statusCode, 200, 'another caller')
  await Promise.all(connections.map((socket) => socket.destroyed || once(socket, 'close')))
  t.equal((await waiting).statusCode, 200, 'a request that waits gets a slot that is released')
})

t.test('only the page and its files are served under /docs', async (t) => {
  const { app } = usual
  for (const url of [
    '/docs/static/..%2f..%2fpackage.json', '/docs/static/%2e%2e/%2e%2e/package.json',
    '/docs/static/../../../package.json', '/docs/altro'
  ]) {
    t.not((await app.inject(url)).statusCode, 200, url)
  }
})

t.test('the example of each operation that takes a picture succeeds', async (t) => {
  const { app, call, token } = usual
  const authorization = `Bearer ${await token({ role: 'admin' })}`
  const { data } = (await call('POST', '/api/v1/prenotazioni', booking({}))).json<{ data: { id: number } }>()
  t.equal(data.id, 1, 'the booking of the examples')
  const { paths } = JSON.parse(JSON.stringify(app.swagger())) as {
    paths: Record<string, Record<string, {
      requestBody: { content: Record<string, { example: Record<string, Json> }> }
    }>>
  }
  for (const [method, path] of [
    ['POST', '/api/ocr'], ['POST', '/api/documents/upload'], ['PUT', '/api/v1/struttura/logo']
  ] as const) {
    const { example } = paths[path]![method.toLowerCase()]!.requestBody.content['application/json']!
    const answer = await app.inject({ method, url: path, headers: { authorization }, payload: example })
    t.equal(answer.statusCode, 200, `${path}: ${answer.body}`)
  }
})

const SIDE = 390
const LOOK_MS = 10

/** Waits and clicks in a tab. */
function driver (evaluate: Tab['evaluate']) {
  /** Polls until an expression is truthy. */
  async function until<T> (expression: string): Promise<T> {
    for (;;) {
      try {
        const value = await evaluate<T | null>(expression)
        if (value) return value
      } catch {
        // The page is still loading.
      }
      await sleep(LOOK_MS)
    }
  }
  return {
    until,
    click: (selector: string) => until(`(() => {
      const found = document.querySelector(${JSON.stringify(selector)})
      found?.click()
      return found !== null
    })()`),
    /** Types into a field that React may observe. */
    write: (selector: string, text: string) => until(`(() => {
      const field = document.querySelector(${JSON.stringify(selector)})
      if (!field) return false
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, ${JSON.stringify(text)})
      field.dispatchEvent(new Event('input', { bubbles: true }))
      return true
    })()`)
  }
}

t.test('on a phone in dark mode the reference fits, is searchable, and tries out requests', { skip }, async (t) => {
  const url = `http://localhost:${port}`
  const { send, evaluate } = await openTab(t, `${url}/health/live`)
  await send('Emulation.setDeviceMetricsOverride', { width: SIDE, height: 844, deviceScaleFactor: 1, mobile: true })
  await send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: 'dark' }] })
  await send('Page.navigate', { url: `${url}/docs` })

  const { until, click, write } = driver(evaluate)
  await until("document.querySelector('.opblock') !== null")
  t.equal(await evaluate('innerWidth'), SIDE, 'no element is wider than the phone')
  t.ok(await evaluate("document.documentElement.matches('.dark-mode')"))
  t.not(await evaluate('getComputedStyle(document.documentElement).backgroundColor'), 'rgb(255, 255, 255)')

  await write('.operation-filter-input', 'health')
  t.ok(await until("document.querySelector('[data-path=\"/health/live\"]') !== null"), 'a path is found by its name')
  await click('.opblock:has([data-path="/health/live"]) .opblock-summary-control')
  await click('.try-out__btn')
  await click('.execute')
  const status = "document.querySelector('.live-responses-table tbody .response-col_status')"
  t.equal(await until(`${status}?.textContent.trim()`), '200')
  t.equal(await evaluate('innerWidth'), SIDE)
})

t.test('a person who signs in on the page creates two bookings in a row from the example', { skip }, async (t) => {
  const port = await freePort()
  const url = `http://localhost:${port}`
  const server = await build(t, { PUBLIC_URL: url })
  const { app, call } = server
  await createPerson(server, 'anna@example.org')
  await app.listen({ host: '127.0.0.1', port })
  const { send, evaluate } = await openTab(t, `${url}/docs`)
  const { until, click, write } = driver(evaluate)
  await until("document.querySelector('.opblock') !== null")
  await click('.locanda-sign-in button')
  await write('#email', 'anna@example.org')
  await write('#password', PASSWORD)
  await click('form[action="/auth/accedi"] button')
  await until("document.querySelector('.locanda-sign-in')?.textContent.includes('anna@example.org')")
  t.equal(await evaluate('location.search'), '', 'the code is removed from the URL')

  const operation = '#operations-Prenotazioni-createPrenotazione'
  // The page renders only visible operations.
  await send('Emulation.setDeviceMetricsOverride', { width: 1280, height: 5000, deviceScaleFactor: 1, mobile: false })
  await click(`${operation} .opblock-summary-control`)
  await click(`${operation} .try-out__btn`)
  for (const number of [1, 2]) {
    await click(`${operation} .execute`)
    await until(`document.querySelector('${operation} .live-responses-table tbody .response-col_status')?.textContent
      .startsWith('201') &&
      document.querySelector('${operation}').textContent.includes('/api/v1/prenotazioni/${number}')`)
  }
  t.equal((await call('GET', '/api/v1/prenotazioni')).json<{ data: object[] }>().data.length, 2)

  await click('.locanda-sign-in button')
  await until("document.querySelector('.locanda-sign-in button').textContent === 'Accedere'")
  await click(`${operation} .execute`)
  await until(`document.querySelector('${operation} .live-responses-table tbody .response-col_status')?.textContent
    .startsWith('401')`)
})
