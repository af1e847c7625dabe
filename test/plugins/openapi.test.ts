import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, request as send } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { build, temporaryFolder } from '#test/helper.ts'
import type { OpenApi } from '#test/openapi-shape.ts'
import { listen, openSocket, target } from '#test/raw.ts'

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path)
)
const HOST = 'locanda.test'

/**
 * The only way out for the browser: what is meant for `HOST` goes to the application, everything else is refused. So
 * the page is seen under a name that is not loopback's, for which browsers make exceptions, and nothing leaves this
 * machine.
 */
async function wayOut (t: Test, port: number) {
  const asked: string[] = []
  const proxy = createServer((request, response) => {
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
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return { server: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, asked }
}

/**
 * The page as the browser has built it, what it complained of, and the addresses the page (not the browser for itself)
 * asked for.
 */
async function dom (t: Test, url: string, proxy: string) {
  const netLog = join(temporaryFolder(t), 'net.json')
  const browser = spawn(
    CHROMIUM ?? '',
    [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--disable-extensions',
      '--disable-default-apps',
      '--disable-domain-reliability',
      '--no-pings',
      `--user-data-dir=${temporaryFolder(t)}`,
      `--proxy-server=${proxy}`,
      '--proxy-bypass-list=<-loopback>',
      '--enable-logging=stderr',
      `--log-net-log=${netLog}`,
      // The page shows only the operations that are in view.
      '--window-size=1280,60000',
      '--virtual-time-budget=20000',
      '--dump-dom',
      url
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] }
  )
  t.teardown(() => browser.kill('SIGKILL'))
  const [html, complaints] = await Promise.all([text(browser.stdout), text(browser.stderr)])
  const { events } = JSON.parse(readFileSync(netLog, 'utf8')) as {
    events: { params?: { url?: string; initiator?: string } }[]
  }
  return {
    html,
    complaints: complaints
      .split('\n')
      .filter((line) => /CONSOLE.*(Content Security Policy|Failed|Uncaught)/.test(line)),
    requests: events.flatMap(({ params }) =>
      params?.url !== undefined && params.initiator === new URL(url).origin ? [params.url] : []
    )
  }
}

/** On a busy machine the browser may end without a page. */
async function domAtLast (t: Test, url: string, proxy: string) {
  for (let attempt = 1; ; attempt++) {
    const found = await dom(t, url, proxy)
    if (found.html !== '' || attempt === 3) return found
    t.comment('the browser ended without a page')
  }
}

const skip = CHROMIUM ? false : 'no Chromium is installed'

t.test(
  'in a browser, over plain http, the page shows every operation and asks nobody else for anything',
  { skip },
  async (t) => {
    const { app } = await build(t)
    const proxy = await wayOut(t, await listen(app))
    const document: OpenApi = JSON.parse(JSON.stringify(app.swagger()))
    const { html, complaints, requests } = await domAtLast(t, `http://${HOST}/docs`, proxy.server)

    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.values(methods).map(({ operationId }) => ({ path, operationId }))
    )
    t.ok(operations.length > 15)
    for (const { path, operationId } of operations) {
      t.match(html, `data-path="${path}"`, path)
      t.match(html, new RegExp(`id="operations-[^"]*-${operationId}"`), operationId)
    }
    t.match(html, '<title>Locanda · API</title>', 'the name of the page')
    t.match(html, 'operation-filter-input', 'a field to search')
    t.same(complaints, [], 'no script, style or image was held back')
    t.ok(requests.length > 3)
    t.same(
      requests.filter((request) => new URL(request).hostname !== HOST),
      []
    )
    t.ok(proxy.asked.includes('/docs/json'))
  }
)

t.test('the page\'s policy lets it load only from its own server, over the scheme it came by', async (t) => {
  const { app } = await build(t)
  for (const url of [
    '/docs',
    '/docs/',
    '/docs/static/swagger-ui.css',
    '/docs/static/swagger-initializer.js',
    '/docs/json'
  ]) {
    const { statusCode, headers } = await app.inject(url)
    t.equal(statusCode, 200, url)
    const policy = String(headers['content-security-policy'])
    t.match(policy, "default-src 'none'")
    t.match(policy, "frame-ancestors 'none'")
    t.notMatch(policy, /https?:|upgrade-insecure|unsafe|\*|[a-z]\.[a-z]/)
  }
})

t.test('the description is made once, however often it is asked for', async (t) => {
  let made = 0
  const { app } = await build(t, {}, (app) => {
    app.addHook('onReady', async () => {
      const swagger = app.swagger.bind(app)
      app.swagger = (() => { made++; return swagger() }) as typeof swagger
    })
  })
  const answers = await Promise.all(Array.from({ length: 3 }, () => app.inject('/openapi.json')))
  t.ok(made <= 1, `made ${made} times`)
  for (const { headers, payload } of answers) {
    t.equal(headers['content-type'], 'application/json; charset=utf-8')
    t.equal(payload, answers[0]!.payload)
  }
  const packed = await app.inject({ url: '/openapi.json', headers: { 'accept-encoding': 'gzip' } })
  t.equal(gunzipSync(packed.rawPayload).toString(), answers[0]!.payload)
})

t.test('so many parts of the page are given to a caller at a time, and one who does not read is cut', async (t) => {
  const { app } = await build(t, {}, undefined, { stalledReaderMs: 500 })
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
  const refused = await app.inject(bundle)
  t.equal(refused.statusCode, 503)
  t.equal(refused.headers['retry-after'], '5')
  t.match(refused.json(), { status: 503, codice: 'SERVIZIO_OCCUPATO' })
  t.equal((await app.inject({ url: bundle, remoteAddress: '198.51.100.7' })).statusCode, 200, 'another caller')
  await Promise.all(connections.map((socket) => socket.destroyed || once(socket, 'close')))
  t.equal((await app.inject(bundle)).statusCode, 200, 'the turns are free again')
})

t.test('nothing but the page and its parts is served under /docs', async (t) => {
  const { app } = await build(t)
  for (const url of [
    '/docs/static/..%2f..%2fpackage.json',
    '/docs/static/%2e%2e/%2e%2e/package.json',
    '/docs/static/../../../package.json',
    '/docs/altro'
  ]) {
    t.not((await app.inject(url)).statusCode, 200, url)
  }
})
