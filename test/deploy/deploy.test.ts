import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { basename, join } from 'node:path'
import process from 'node:process'
import { json } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Type } from '@sinclair/typebox'
import t, { type Test } from 'tap'
import { readConfig } from '#src/config/config.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { testDatabase } from '#test/database.ts'
import { freePort } from '#test/free-port.ts'
import { API_KEY, build, extraRoutes, temporaryFolder } from '#test/helper.ts'
import { listen, target } from '#test/raw.ts'
import { type ServerProcess, startServer } from '#test/running-server.ts'
import { ADMIN, serverProcess } from '#test/server-process.ts'
import { type Nginx, SHIPPED, startNginx, without, writeNginx } from './nginx.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Metrics that Prometheus itself provides. */
const NOT_OURS = ['up']

const shipped = (name: string) => readFileSync(join(SHIPPED, name), 'utf8')

/** Metric names in expressions: all of this product, and those of the process before a bracket. */
function metricsIn (text: string): string[] {
  return [...new Set(text.match(/\b(?:locanda_\w+|process_[a-z_]+(?=[{[]))/g))].filter((name) => !NOT_OURS.includes(name))
}

function run (program: string, args: readonly string[], cwd: string, input = '') {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, input, encoding: 'utf8' })
  return { status, said: stdout + stderr }
}

const skip = without('nginx', 'nginx-light')
const noPromtool = without('promtool', 'prometheus')
/** Number of restarts per instance. A higher number makes a longer test. */
const ROUNDS = Number(process.env.ROUNDS ?? 1)
const CLIENTS = 3
/** Pause between two requests of a client. A shorter pause tests nothing more, and slows down the restarts. */
const PAUSE_MS = 15

interface ApiResponse { status: number, body: { data?: { id: number } } }

/** Sends one request over keep-alive connections. */
function ask ({ port, certificate }: Nginx, agent: Agent, path: string, body?: object): Promise<ApiResponse> {
  return new Promise((resolve, reject) => {
    const sent = request({
      port,
      host: '127.0.0.1',
      servername: 'locanda.example',
      ca: certificate,
      agent,
      path,
      method: body ? 'POST' : 'GET',
      headers: { host: 'locanda.example', 'x-api-key': API_KEY, 'content-type': 'application/json' }
    }, (response) => {
      const status = response.statusCode!
      json(response).then((body) => resolve({ status, body: body as ApiResponse['body'] }), reject)
    })
    sent.on('error', reject)
    sent.end(body && JSON.stringify(body))
  })
}

const booking = (name: string) => ({
  nome_cognome: name, lingua: 'IT', paese_id: 380, check_in: '2026-11-21', numero_notti: 2, numero_ospiti: 1
})

async function instances (t: Test) {
  const { url, sql } = await testDatabase(t)
  const ports = [await freePort(), await freePort()] as [number, number]
  const env = {
    DATABASE_URL: url,
    DATA_DIR: temporaryFolder(t),
    MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    ADMIN_EMAIL: 'direzione@example.org',
    ADMIN_PASSWORD: 'una-frase-lunga-e-mia',
    PUBLIC_URL: 'https://locanda.example',
    TRUST_PROXY: '127.0.0.1',
    RATE_LIMIT_MAX: '1000000',
    DRAIN_SECONDS: '2'
  }
  const start = (port: number) => startServer({ ...env, PORT: String(port) })
  const running: ServerProcess[] = [await start(ports[0]), await start(ports[1])]
  t.teardown(() => Promise.all(running.map((server) => server.kill())))
  return { running, ports, start, sql }
}

t.test('the server exposes every metric and label that the dashboard and the alert rules use', async (t) => {
  const figures = { residentBytes: 1, cpuSeconds: 1, startedAt: 1, descriptors: 1 }
  const backups = temporaryFolder(t)
  const environ = { BACKUP_DIR: backups, BACKUP_PASSPHRASE: 'una-frase-per-i-salvataggi' }
  const { call } = await build(t, environ, undefined, { processFigures: () => figures })
  for (const url of ['/health/live', '/api/v1/prenotazioni']) await call('GET', url)
  const { body } = await call('GET', '/metrics')
  // Exposed only with REDIS_URL.
  const served = [...body.matchAll(/^(\w+)(?:\{|\s)/gm)].map(([, name]) => name!).concat('locanda_redis_up')
  for (const file of ['alerts.yaml', 'grafana.json']) {
    const named = metricsIn(shipped(file))
    t.ok(named.length > 10, `${file}: ${named.length} metrics`)
    t.same(named.filter((name) => !served.includes(name)), [], file)
  }

  const values = labelValues(body)
  for (const file of ['alerts.yaml', 'grafana.json']) {
    const expressions = shipped(file).replaceAll('\\"', '"')
    const [selectors, groups] = [selectorsIn(expressions), groupsIn(expressions)]
    t.ok(selectors.length + groups.length > 5, `${file}: ${selectors.length} selectors, ${groups.length} groups`)
    for (const { metric, label, isPattern, wanted } of selectors) {
      const known = values.get(metric)?.get(label) ?? []
      t.ok(isPattern ? fits(wanted, known, label) : wanted.split('|').every((each) => known.includes(each)),
        `${file}: ${metric}{${label} ${wanted}}: one of ${known.join()}`)
    }
    for (const { metrics, label } of groups) {
      t.ok(metrics.some((each) => values.get(each)?.has(label)), `${file}: ${metrics.join()} by ${label}`)
    }
  }

  t.test('promtool accepts the metrics', { skip: noPromtool }, async (t) => {
    t.same(run('promtool', ['check', 'metrics'], ROOT, body), { status: 0, said: '' })
  })
})

/** Whether a pattern matches a value. No request has failed in this test, so for `status` any value matches. */
function fits (wanted: string, known: readonly string[], label: string): boolean {
  const pattern = label === 'status' ? /^\d{3}$/ : new RegExp(`^(?:${wanted})$`)
  return known.some((each) => pattern.test(each))
}

/** Label matchers in expressions. `isPattern` is false for a choice of words. */
function selectorsIn (expressions: string) {
  return [...expressions.matchAll(/(locanda_\w+)\{([^}]*)\}/g)].flatMap(([, metric = '', inner = '']) =>
    [...inner.matchAll(/(\w+)(=~?)"([^"]*)"/g)].map(([, label = '', operator, wanted = '']) =>
      ({ metric, label, isPattern: operator === '=~' && /[.*]/.test(wanted), wanted })))
}

/** Labels and metrics of aggregations in expressions, which may have several lines. */
function groupsIn (expressions: string) {
  return [...expressions.matchAll(/\bby \(([\w, ]+)\)(.*\n?.*)/g)].flatMap(([, labels = '', of = '']) =>
    labels.split(/, */).map((label) => ({ label, metrics: metricsIn(of) })))
}

/** Label values by metric and label. */
function labelValues (body: string): ReadonlyMap<string, ReadonlyMap<string, string[]>> {
  const found = new Map<string, Map<string, string[]>>()
  for (const [, metric = '', inner = ''] of body.matchAll(/^(\w+)\{(.*)\} \S+$/gm)) {
    const labels = found.get(metric) ?? new Map<string, string[]>()
    found.set(metric, labels)
    for (const [, label = '', value = ''] of inner.matchAll(/(\w+)="([^"]*)"/g)) {
      labels.set(label, [...labels.get(label) ?? [], value])
    }
  }
  return found
}

t.test('the alert rules are valid, and fire as expected', { skip: noPromtool }, async (t) => {
  const folder = temporaryFolder(t)
  cpSync(join(SHIPPED, 'alerts.yaml'), join(folder, 'alerts.yaml'))
  cpSync(join(ROOT, 'test/deploy/alerts.test.yaml'), join(folder, 'cases.yaml'))
  for (const args of [['check', 'rules', 'alerts.yaml'], ['test', 'rules', 'cases.yaml']]) {
    const { status, said } = run('promtool', args, folder)
    t.equal(status, 0, said)
  }
})

const noSystemd = without('systemd-analyze', 'systemd')
t.test('systemd accepts the unit, and rates its exposure below 3', { skip: noSystemd }, async (t) => {
  const folder = temporaryFolder(t)
  const opt = join(folder, 'opt')
  mkdirSync(join(opt, 'node_modules/.bin'), { recursive: true })
  cpSync(process.execPath, join(opt, 'node_modules/.bin/node'))
  writeFileSync(join(folder, 'locanda@.service'), shipped('locanda@.service').replaceAll('/opt/locanda', opt))
  const verified = run('systemd-analyze', ['verify', '--man=no', join(folder, 'locanda@3001.service')], folder)
  t.equal(verified.status, 0, verified.said)
  t.notMatch(verified.said, /locanda@/)
  const { said } = run('systemd-analyze', ['security', '--offline=yes', join(folder, 'locanda@.service')], folder)
  const [, exposure] = /Overall exposure level for \S+: ([\d.]+)/.exec(said) ?? []
  t.ok(Number(exposure) < 3, said.slice(-200))
})

t.test('the wrapper runs the tool with environment, files and user of the unit', async (t) => {
  const folder = temporaryFolder(t)
  const unit = join(SHIPPED, 'locanda@.service')
  // systemd does not run in containers. These programs replace it: they read the unit, and print the arguments.
  const programs = {
    systemctl: `case $2 in --property=EnvironmentFiles)
      sed -n 's/^EnvironmentFile=\\(.*\\)/\\1 (ignore_errors=no)/p' '${unit}' ;;
      *) sed -n "s/%i/3002/; s/^\${2#--property=}=//p" '${unit}' | paste -sd ' ' ;; esac`,
    'systemd-run': 'printf "%s\\n" "$@"'
  }
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  }
  const env = { PATH: `${folder}:${process.env.PATH}`, LOCANDA_PORT: '3002' }
  const args = ['backup', 'un file.age']
  const { stdout, stderr } = spawnSync(join(SHIPPED, 'locanda'), args, { cwd: folder, env, encoding: 'utf8' })
  t.equal(stderr, '')
  const lines = stdout.trimEnd().split('\n')
  t.same(lines.slice(-4), ['/opt/locanda/node_modules/.bin/node', '/opt/locanda/src/cli/start.cjs', ...args])
  const [environment, ...others] = lines.slice(0, -4).filter((line) => line.startsWith('--property=')).toSorted()
  t.match(environment, /^--property=Environment=HOST=127\.0\.0\.1 PORT=3002 DATA_DIR=\/var\/lib\/locanda /)
  t.same(others, [
    'EnvironmentFile=/etc/locanda/locanda.env', 'Group=locanda', 'UMask=0077', 'User=locanda',
    `WorkingDirectory=-${folder}`
  ].map((each) => `--property=${each}`))
})

t.test('the server starts with the files that the Containerfile copies', async (t) => {
  const folder = temporaryFolder(t)
  const copies = [...shipped('Containerfile').matchAll(/^COPY (?!--)(.+) (\S+)$/gm)]
  t.ok(copies.length > 5)
  for (const [, sources = '', target = ''] of copies) {
    for (const source of sources.split(' ')) {
      const to = target.endsWith('/') ? join(target, basename(source)) : target
      cpSync(join(ROOT, source), join(folder, to), { recursive: true })
    }
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const [, command = '[]'] = /^CMD (\["node", .*)$/m.exec(shipped('Containerfile'))!
  const args = (JSON.parse(command) as string[]).slice(1)
  const { url } = await testDatabase(t)
  const server = serverProcess(t, { DATABASE_URL: url, ...ADMIN }, args.shift()!, args, undefined, folder)
  t.match(await (await fetch(`${await server.ready}/health/ready`)).json(), { stato: 'ok' })
})

t.test('the server accepts the environment of the unit, and knows the variables of the compose file', async (t) => {
  const known = shipped('../.env.example').match(/^[A-Z0-9_]+(?==)/gm)!
  const ofUnit = [...shipped('locanda@.service').matchAll(/^Environment=(.*)$/gm)]
    .flatMap(([, words]) => words!.replaceAll('%i', '3001').split(' '))
    .map((word) => word.split('=') as [string, string])
    .filter(([name]) => !/^(?:NODE|MALLOC)_/.test(name))
  t.same(ofUnit.map(([name]) => name).filter((name) => !known.includes(name)), [])
  readConfig({ ...Object.fromEntries(ofUnit), DATA_DIR: temporaryFolder(t) })
  const compose = shipped('compose.yaml')
  const [, own] = /^ {2}environment:\n([^]*?)\n {2}depends_on/m.exec(compose)!
  const named = own!.match(/^ {4}[A-Z0-9_]+(?=:)/gm)!.map((name) => name.trim())
  t.ok(named.length > 5)
  t.same(named.filter((name) => !known.includes(name)), [])
})

t.test('secrets in the compose file have no default, so that an empty one prevents the start', async (t) => {
  const compose = shipped('compose.yaml')
  const secrets = [...compose.matchAll(/\$\{(\w*(?:PASSWORD|KEY|KEY_ID)\b)([^}]*)\}/g)]
  t.ok(secrets.length > 5)
  t.same(secrets.filter(([, , rest]) => !rest!.startsWith(':?')), [])
  t.same(shipped('compose.env.example').match(/^[A-Z_]+=.+$/gm), null)
})

t.test('nginx accepts the shipped configuration', { skip }, async (t) => {
  const { folder } = await writeNginx(t, [4001, 4002])
  const { status, stderr } = spawnSync('nginx', ['-t', '-p', folder, '-c', join(folder, 'nginx.conf')], {
    encoding: 'utf8'
  })
  t.equal(status, 0, stderr)
  t.notMatch(stderr, /warn/)
})

t.test('restarting the instances in turn under load loses no request and repeats no POST', { skip }, async (t) => {
  const { running, ports, start, sql } = await instances(t)
  const nginx = await writeNginx(t, ports)
  await startNginx(t, nginx)
  const agent = new Agent({ keepAlive: true, maxSockets: 2 * CLIENTS })
  t.teardown(() => agent.destroy())

  const bad: unknown[] = []
  const names: string[] = []
  let reads = 0
  const over = new AbortController()
  const note = async (name: string, response: Promise<ApiResponse>, status: number) => {
    const { status: got } = await response.catch((err: Error) => ({ status: err.message }))
    if (got !== status) bad.push([name, got])
    await sleep(PAUSE_MS)
  }
  const writer = async (client: number) => {
    for (let n = 0; !over.signal.aborted; n++) {
      const name = `Ospite ${client} ${n}`
      names.push(name)
      await note(name, ask(nginx, agent, '/api/v1/prenotazioni', booking(name)), 201)
    }
  }
  const reader = async () => {
    for (; !over.signal.aborted; reads++) await note('read', ask(nginx, agent, '/api/v1/prenotazioni?limit=1'), 200)
  }
  const clients = Array.from({ length: CLIENTS }, (_, client) => [writer(client), reader()]).flat()
  try {
    for (let round = 0; round < ROUNDS; round++) {
      for (const place of [0, 1] as const) {
        await running[place]!.end()
        running[place] = await start(ports[place])
      }
    }
  } finally {
    over.abort()
    await Promise.all(clients)
  }

  t.same(bad, [], readFileSync(join(nginx.folder, 'error.log'), 'utf8').slice(0, 2000))
  const rows = await sql<{ name: string, count: number }[]>`
    select nome_cognome as name, count(*)::int as count from prenotazioni group by 1`
  t.equal(rows.length, names.length)
  t.same(rows.filter(({ count }) => count !== 1), [])
  t.ok(reads > 50 && names.length > 50, `${reads} reads, ${names.length} POSTs`)
  t.comment(`${reads} reads, ${names.length} POSTs`)
})

t.test('after both instances were down, the first request reaches a restarted instance', { skip }, async (t) => {
  const { app } = await build(t)
  const port = await freePort()
  const nginx = await writeNginx(t, [port, await freePort()])
  await startNginx(t, nginx)
  const agent = new Agent()
  const live = async () => await ask(nginx, agent, '/health/live').then(({ status }) => status, () => 'no JSON')
  for (let n = 0; n < 3; n++) t.equal(await live(), 'no JSON', 'a 502 of nginx')
  await app.listen({ port, host: '127.0.0.1' })
  for (let n = 0; n < 3; n++) t.equal(await live(), 200)
})

t.test('behind nginx a slow body and a slow reader occupy no connection of the server', { skip }, async (t) => {
  const MUCH = 8 * 1024 * 1024
  const config = { access: 'public' as const }
  let begun = 0
  let ended = 0
  const { app } = await build(t, {}, extraRoutes((app) => {
    app.get('/prova/molto', { config, schema: { response: { 200: Type.Any() } } }, async (_request, reply) => {
      begun++
      reply.raw.once('close', () => { ended++ })
      return await reply.type('application/octet-stream').send(Buffer.alloc(MUCH))
    })
  }))
  let requests = 0
  app.server.on('request', () => { requests++ })
  const port = await listen(app)
  const nginx = await writeNginx(t, [port, port])
  await startNginx(t, nginx)
  const open = async (bytes: string) => {
    const socket = connectTls({
      port: nginx.port, host: '127.0.0.1', servername: 'locanda.example', ca: nginx.certificate
    })
    t.teardown(() => socket.destroy())
    socket.on('error', () => {})
    await once(socket, 'secureConnect')
    socket.write(bytes)
    return socket
  }
  const body = JSON.stringify({ email: 'ada@example.org', password: 'x'.repeat(100) })
  const slow = await open(target('POST', '/auth/v1/token?grant_type=password', {
    host: 'locanda.example', 'content-type': 'application/json', 'content-length': String(body.length)
  }) + body.slice(0, 20))
  const reader = (await open(target('GET', '/prova/molto', { host: 'locanda.example' }))).pause()
  await until(() => ended > 0)
  t.same([begun, reader.bytesRead < MUCH, requests], [1, true, 1], 'the server is done before the client has read')
  slow.write(body.slice(20))
  await until(() => requests > 1)
})
