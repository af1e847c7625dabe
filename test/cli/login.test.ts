import {
  chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync
} from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import t, { type Test } from 'tap'
import { run } from '#src/cli/run-command.ts'
import { freePort } from '#test/free-port.ts'
import { API_KEY, temporaryFolder } from '#test/helper.ts'
import { visitorBrowser } from '#test/identity/pages/visitor.ts'
import { account, EMAIL, keysOf, PASSWORD } from './account.ts'
import { errorOf, user } from './process.ts'
import { site } from './site.ts'
import { type Received, type Replies, type Reply, standIn } from './stand-in.ts'

const server = await site(t, { RATE_LIMIT_LOGIN_MAX: '1000', CORS_ORIGINS: 'https://app.example' })
const { app, url, logs } = server
await account(server)
const LOGIN = ['login', '--email', EMAIL]
const env = { LOCANDA_URL: url, LOCANDA_PASSWORD: PASSWORD }
const LIST = ['prenotazioni', 'list']

t.test('login stores a working key in a file that only the user can read, and prints no secret', async (t) => {
  const { run, file, kept } = user(t)
  const { code, stdout, stderr } = await run([...LOGIN, '--url', url], { input: `${PASSWORD}\n` })
  t.equal(code, 0, stderr)
  t.match(stdout, new RegExp(`^Accesso a ${url} riuscito: [^\\n]*\\d{4}-\\d\\d-\\d\\d\\.\\n$`))
  t.equal(stderr, '')
  const { key, ...rest } = kept()
  t.match(rest, { url, id: /^[0-9a-f]{16}$/, expires_at: /^\d{4}-.*Z$/ })
  t.strictSame(Object.keys(rest), ['url', 'id', 'expires_at'])
  t.notMatch(stdout + stderr + JSON.stringify([kept(), logs]), PASSWORD)
  t.notMatch(stdout + stderr + JSON.stringify(logs), String(key))
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.equal(statSync(dirname(file)).mode & 0o777, 0o700)
  t.same(readdirSync(dirname(file)), ['config.json'], 'the folder has no other file')
  t.equal((await run(LIST)).code, 0)
  t.match((await keysOf(server)).at(-1), { id: rest.id, name: hostname().slice(0, 100), days: 90, revoked: false })
})

t.test('the password is the first line of standard input, or LOCANDA_PASSWORD', async (t) => {
  const { run } = user(t)
  for (const input of [PASSWORD, `${PASSWORD}\n`, `${PASSWORD}\r\naltro\n`]) {
    t.equal((await run(LOGIN, { env: { LOCANDA_URL: url }, input })).code, 0)
  }
  t.equal((await run(LOGIN, { env, input: 'un-altra\n' })).code, 0)
  for (const input of ['', '\n', `\n${PASSWORD}`]) {
    const refused = await run(LOGIN, { env: { LOCANDA_URL: url }, input })
    t.match(refused, { code: 2, stderr: 'Errore: Password: manca (LOCANDA_PASSWORD)\n' })
  }
})

t.test('a second login replaces the key and revokes the first', async (t) => {
  const { act, kept, file } = user(t)
  await act(LOGIN, { env })
  const first = kept().id
  chmodSync(dirname(file), 0o755)
  t.match(await act(LOGIN, { env }), { code: 0, stderr: '' })
  const second = kept().id
  t.not(second, first)
  const keys = await keysOf(server)
  t.match(
    keys.filter(({ id }) => id === first || id === second),
    [{ id: first, revoked: true }, { id: second, revoked: false }]
  )
  t.equal((await act(LIST)).code, 0)
  t.equal(statSync(dirname(file)).mode & 0o777, 0o700, 'the folder is private again')
})

t.test('a key that cannot be stored is revoked', async (t) => {
  const { act, file } = user(t)
  const config = dirname(dirname(file))
  mkdirSync(dirname(config), { recursive: true })
  symlinkSync(join(dirname(config), 'nessun', 'posto'), config)
  const { code, stdout, stderr } = await act(LOGIN, { env })
  t.equal(code, 1)
  t.equal(stdout, '')
  t.match(stderr, /^Errore: Impossibile scrivere [^\n]+\n$/)
  t.match((await keysOf(server)).at(-1), { revoked: true })
})

t.test('logout revokes the key and deletes it', async (t) => {
  const { run, file, kept } = user(t)
  await run(LOGIN, { env })
  const { id } = kept()
  const out = await run(['logout'])
  t.match(out, { code: 0, stderr: '', stdout: /^La chiave per http[^\n]+\n$/ })
  t.match((await keysOf(server)).find((key) => key.id === id), { revoked: true })
  t.throws(() => statSync(file), { code: 'ENOENT' })
  t.match(await run(['logout']), { code: 3, stderr: /«locanda login»/ }, 'a second logout changes nothing')
})

t.test('with an expired or revoked key the tool exits with 3 and advice, but logout deletes the key', async (t) => {
  for (const spoil of [
    (id: string) => app.sql`
      update api_keys set created_at = created_at - interval '2 days', expires_at = now() - interval '1 day'
      where id = ${id}`,
    (id: string) => app.sql`update api_keys set revoked_at = now() where id = ${id}`
  ]) {
    const { act, file, kept } = user(t)
    await act(LOGIN, { env })
    await spoil(String(kept().id))
    const { code, stdout, stderr } = await act(LIST)
    t.equal(code, 3)
    t.equal(stdout, '')
    t.match(stderr, /^Errore: [^\n]*scaduta[^\n]*«locanda login»\n$/)
    t.equal((await act(['logout'])).code, 0)
    t.throws(() => statSync(file), { code: 'ENOENT' })
  }
})

t.test('when the server is unreachable, logout keeps the key, which is still valid', async (t) => {
  const { act, file, keep } = user(t)
  keep({ url: `http://127.0.0.1:${await freePort()}`, key: 'altrove' })
  t.equal((await act(['logout'])).code, 4)
  t.ok(statSync(file))
})

t.test('key creates another key, prints only this key, once, and does not store it', async (t) => {
  const { run, file } = user(t)
  const { code, stdout, stderr } = await run(
    ['key', '--email', EMAIL, '--giorni', '7', '--scope', 'lettura', 'invio'],
    { env }
  )
  t.equal(code, 0, stderr)
  t.match(stdout, /^\S+\n$/)
  t.throws(() => statSync(file), { code: 'ENOENT' })
  const made = (await keysOf(server)).at(-1)
  t.match(made, { scopes: ['lettura', 'invio'], days: 7, revoked: false })
  t.match(stderr, made?.id)
  t.notMatch(stderr, stdout.trim())
  t.notMatch(stdout + stderr + JSON.stringify(logs), PASSWORD)
  const use = async (method: string, body?: string) =>
    (
      await fetch(`${url}/api/v1/prenotazioni`, {
        method,
        body,
        headers: { 'x-api-key': stdout.trim(), 'content-type': 'application/json' }
      })
    ).status
  t.equal(await use('GET'), 200)
  t.equal(await use('POST', '{}'), 403)
  t.same(await app.sql`select from sessions`, [])
})

t.test('when the key lacks the right for a request, the tool exits with 1 and the server\'s message', async (t) => {
  const { act, keep } = user(t)
  const made = await act(['key', '--email', EMAIL, '--scope', 'lettura'], { env })
  keep({ url, key: made.stdout.trim() })
  t.equal((await act(LIST)).code, 0)
  t.match(await act(['alloggiati', 'invio', '--test', '--prenotazione', '1']), {
    code: 1,
    stderr: /^Errore: Questa chiave non è abilitata[^\n]*\n$/
  })
})

t.test('a key that a person has created on the pages is stored, without a question for the password', async (t) => {
  const browser = await visitorBrowser(app).open('/auth/accedi')
  await browser.submit('/auth/accedi', { email: EMAIL, password: PASSWORD })
  await browser.open('/auth/account/chiavi/nuova')
  await browser.submit('/auth/account/chiavi/nuova', { name: 'terminale', days: '7', lettura: '1' })
  const key = /<code>(lcd_\w+)<\/code>/.exec(browser.page().body)![1]!
  const { act, kept } = user(t)
  const taken = await act(['login', '--chiave'], { env: { LOCANDA_URL: url }, input: `${key}\n` })
  t.match(taken, { code: 0, stdout: /^Accesso a http.* riuscito/, stderr: '' })
  t.match(kept(), { url, key })
  t.equal((await act(LIST)).code, 0)
  t.equal((await act(['logout'])).code, 0)
  t.match((await keysOf(server)).at(-1), { name: 'terminale', days: 7, revoked: true })
})

t.test('a text that is not a key of a person is refused and not stored', async (t) => {
  const { act, file } = user(t)
  const login = (LOCANDA_KEY: string, more: string[] = []) =>
    act(['login', '--chiave', ...more], { env: { LOCANDA_URL: url, LOCANDA_KEY } })
  t.match(await login(`lcd_${'0'.repeat(16)}_${'0'.repeat(64)}_${'0'.repeat(12)}`), { code: 3 })
  t.match(await login('due parole'), { code: 2, stderr: /chiave API/ })
  t.match(await login(API_KEY), { code: 2, stderr: /di una persona/ })
  t.match(await login('lcd_x', ['--email', EMAIL]), { code: 2, stderr: /--email/ })
  t.notOk(existsSync(file))
})

const KEY = {
  apiKey: 'lcd_chiave',
  id: '0123456789abcdef',
  created_at: '2026-11-21T09:30:00.000Z',
  expires_at: '2027-02-19T09:30:00.000Z'
}

const BOOKING = {
  id: 1,
  nome_cognome: 'Anna Bianchi',
  lingua: 'IT',
  email: null,
  telefono: null,
  paese_id: 380,
  check_in: '2026-11-21',
  check_out: '2026-11-24',
  numero_notti: 3,
  numero_ospiti: 2,
  idf_gen: null,
  ospiti: [],
  created_at: '2026-11-21T09:30:00.000Z',
  updated_at: '2026-11-21T09:30:00.000Z'
}

interface Parts { provider?: Replies, server?: Replies }

/** A server, and an identity provider with another URL. All calls succeed unless replies are given here. */
async function parts (t: Test, { provider = {}, server = {} }: Parts = {}) {
  const identity = await standIn(t, {
    'POST /auth/v1/token': { body: { access_token: 'gettone', token_type: 'bearer' } },
    'POST /auth/v1/logout': { status: 204, body: '' },
    ...provider
  })
  const api = await standIn(t, {
    'GET /api/config': { body: { backendUrl: `${identity.url}/`, backendKey: 'anonima' } },
    'GET /api/cli/auth/key': { body: KEY },
    ...server
  })
  const { act, file, kept } = user(t)
  return {
    identity,
    api,
    file,
    kept,
    login: (args = LOGIN) => act(args, { env: { LOCANDA_URL: api.url, LOCANDA_PASSWORD: PASSWORD } })
  }
}
const asked = (received: readonly Received[]) => received.map(({ method, url }) => `${method} ${url.split('?', 1)[0]}`)

/** A terminal at which these responses are typed after the questions. */
function seat (t: Test, responses: Record<string, string> = {}) {
  const raw: boolean[] = []
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (mode: boolean) => { raw.push(mode) } })
  const written = { stdout: '', stderr: '' }
  const questions = Object.keys(responses)
  const stdout = new Writable({ write: (chunk, _encoding, done) => { written.stdout += chunk; done() } })
  const stderr = new Writable({
    write (chunk, _encoding, done) {
      written.stderr += chunk
      const asked = questions.find((question) => String(chunk).endsWith(question))
      if (asked !== undefined) setImmediate(() => stdin.write(responses[asked]))
      done()
    }
  })
  const home = temporaryFolder(t)
  return {
    raw,
    written,
    terminal: { env: {}, stdin, stdout, stderr, home, hostname: 'portatile' },
    file: join(home, '.config/locanda/config.json')
  }
}

async function answering (t: Test, replies: Replies = {}) {
  const all: Replies = {
    'POST /auth/v1/token': { body: { access_token: 'gettone' } },
    'POST /auth/v1/logout': { status: 204, body: '' },
    'GET /api/cli/auth/key': { body: KEY },
    ...replies
  }
  const { url, received } = await standIn(t, all)
  all['GET /api/config'] ??= { body: { backendUrl: url, backendKey: 'anonima' } }
  return { url, received }
}

t.test(
  'the password is sent only to the provider of the server. Its token creates a key and is revoked',
  async (t) => {
    const { identity, api, login, kept } = await parts(t)
    const { code, stderr } = await login()
    t.equal(code, 0, stderr)
    t.same(asked(identity.received), ['POST /auth/v1/token', 'POST /auth/v1/logout'])
    const [token, logout] = identity.received
    t.match(token, {
      url: '/auth/v1/token?grant_type=password',
      headers: { apikey: 'anonima', 'content-type': 'application/json' }
    })
    t.strictSame(JSON.parse(token?.body ?? ''), { email: 'anna@example.org', password: PASSWORD })
    t.match(logout, {
      url: '/auth/v1/logout?scope=local',
      headers: { apikey: 'anonima', authorization: 'Bearer gettone' }
    })
    t.same(asked(api.received), ['GET /api/config', 'GET /api/cli/auth/key'])
    t.match(api.received[1], {
      url: /^\/api\/cli\/auth\/key\?name=[^&]+$/,
      headers: { authorization: 'Bearer gettone' }
    })
    t.notMatch(JSON.stringify(api.received), PASSWORD)
    t.strictSame(kept(), { url: api.url, id: KEY.id, key: KEY.apiKey, expires_at: KEY.expires_at })
  }
)

t.test('after a refusal of the provider, in either format, the tool exits with 3 or 1 and stores no key', async (t) => {
  const refusal = (status: number, error_code: string, headers = {}): Reply =>
    ({ status, headers, body: { code: status, error_code, msg: 'x' } })
  const older = { status: 400, body: { code: 'invalid_credentials', message: 'Invalid login credentials' } }
  const wait = { 'retry-after': '42' }
  const cases: [reply: Reply, code: number, codice: string, says: string][] = [
    [refusal(400, 'invalid_credentials'), 3, 'INVALID_CREDENTIALS', 'E-mail o password non corrette'],
    [older, 3, 'INVALID_CREDENTIALS', 'E-mail o password non corrette'],
    [refusal(400, 'user_banned'), 3, 'USER_BANNED', 'sospeso'],
    [refusal(400, 'email_not_confirmed'), 3, 'EMAIL_NOT_CONFIRMED', 'confermato'],
    [refusal(422, 'email_provider_disabled'), 3, 'EMAIL_PROVIDER_DISABLED', 'email_provider_disabled'],
    [refusal(429, 'over_request_rate_limit', wait), 1, 'OVER_REQUEST_RATE_LIMIT', 'fra 42 secondi'],
    [refusal(429, 'over_request_rate_limit'), 1, 'OVER_REQUEST_RATE_LIMIT', 'più tardi'],
    [{ status: 403, body: '<html>no</html>' }, 3, 'STATO_403', '403'],
    [refusal(500, 'unexpected_failure'), 1, 'STATO_500', '500']
  ]
  for (const [reply, code, codice, says] of cases) {
    const { login, file, api } = await parts(t, { provider: { 'POST /auth/v1/token': reply } })
    const printed = await login()
    t.equal(printed.code, code, codice)
    t.match(printed.stderr, /^Errore: [^\n]+\n$/)
    t.match(printed.stderr, says)
    t.match(errorOf(await login(['--json', ...LOGIN])), { codice, uscita: code })
    t.notOk(existsSync(file))
    t.notMatch(asked(api.received), ['GET /api/cli/auth/key'])
  }
})

t.test('if no key is created, the sign-in is ended nevertheless', async (t) => {
  for (const [reply, code] of [
    [{ status: 403, body: { error: 'In attesa', codice: 'ACCOUNT_IN_ATTESA' } }, 1],
    [{ status: 401, body: { error: 'No', codice: 'X' } }, 3],
    [{ body: {} }, 1]
  ] as const) {
    const { login, file, identity } = await parts(t, { server: { 'GET /api/cli/auth/key': reply } })
    t.equal((await login()).code, code)
    t.same(asked(identity.received), ['POST /auth/v1/token', 'POST /auth/v1/logout'])
    t.notOk(existsSync(file))
  }
})

t.test('a password is never sent over http to another machine', async (t) => {
  const elsewhere = await parts(t, {
    server: { 'GET /api/config': { body: { backendUrl: 'http://auth.locanda.example', backendKey: 'anonima' } } }
  })
  t.match(await elsewhere.login(), {
    code: 2,
    stderr: /^Errore: Password e chiavi non vengono inviate in chiaro a http:\/\/auth\.locanda\.example: [^\n]+\n$/
  })
  t.same(asked(elsewhere.api.received), ['GET /api/config'])

  const { act } = user(t)
  for (const command of [LOGIN, ['key', '--email', 'anna@example.org']]) {
    // No request is sent, and these names are not even resolved.
    for (const url of [
      'http://locanda.example', 'http://127.0.0.1.example', 'http://localhost.example:3000', 'http://10.0.0.1'
    ]) {
      const { code, stderr } = await act([...command, '--url', url], { input: PASSWORD })
      t.equal(code, 2, url)
      t.match(stderr, 'in chiaro')
    }
  }
})

t.test('a key over http to another machine causes one warning', async (t) => {
  const { url, received } = await standIn(t, {
    'GET /api/v1/prenotazioni/1': { body: { data: BOOKING } },
    'GET /api/v1/paesi': { body: { data: [] } }
  })
  const { act, keep } = user(t)
  // A loopback address that this program does not recognize.
  keep({ url: url.replace('127.0.0.1', '[::ffff:127.0.0.1]'), key: 'lcd_chiave' })
  const { code, stderr } = await act(['prenotazioni', 'show', '1'])
  t.equal(code, 0)
  t.match(stderr, /^Attenzione: [^\n]*in chiaro[^\n]*\n$/)
  t.equal(received.length, 2)
})

t.test('at a terminal, the code of the second factor is requested after the password', async (t) => {
  const factor = { id: '0b7c8a7e-51c4-4f3e-8a54-0d7d0c9b5a11', factor_type: 'totp', status: 'verified' }
  const path = `POST /auth/v1/factors/${factor.id}`
  const { url, received } = await answering(t, {
    'POST /auth/v1/token': { body: { access_token: 'mezzo', user: { factors: [factor] } } },
    [`${path}/challenge`]: { body: { id: 'sfida' } },
    [`${path}/verify`]: { body: { access_token: 'intero' } }
  })
  const { terminal, written } = seat(t, {
    'E-mail: ': 'anna@example.org\r',
    'Password: ': `${PASSWORD}\r`,
    'Codice del secondo fattore, o di recupero: ': '123 456\r'
  })
  t.equal(await run(['login', '--url', url], terminal), 0, written.stderr)
  const [verify, key, logout] = received.slice(-3)
  t.match(verify, { headers: { authorization: 'Bearer mezzo' } })
  t.strictSame(JSON.parse(verify!.body), { challenge_id: 'sfida', code: '123456' })
  t.match(key, { url: /^\/api\/cli\/auth\/key/, headers: { authorization: 'Bearer intero' } })
  t.match(logout, { url: /^\/auth\/v1\/logout/, headers: { authorization: 'Bearer intero' } })
})

t.test('at a terminal e-mail and password are requested, and the password is not echoed', async (t) => {
  const { url, received } = await answering(t)
  const { terminal, written, raw, file } = seat(t, { 'E-mail: ': ' anna@example.org\r', 'Password: ': `${PASSWORD}\r` })
  t.equal(await run(['login', '--url', url], terminal), 0, written.stderr)
  t.strictSame(JSON.parse(received.find(({ url }) => url.startsWith('/auth/v1/token'))?.body ?? ''), {
    email: 'anna@example.org',
    password: PASSWORD
  })
  t.match(written.stderr, /E-mail: .*anna@example\.org\r?\n.*Password: \n$/s)
  t.notMatch(written.stdout + written.stderr + readFileSync(file, 'utf8'), 'CANARY')
  t.match(received.find(({ url }) => url.startsWith('/api/cli'))?.url, '?name=portatile')
  t.equal(raw.at(-1), false, 'the terminal mode is restored')
})

t.test('Ctrl-C and Ctrl-D at a question exit with 130, and nothing is sent or stored', async (t) => {
  for (const key of ['\u0003', '\u0004']) {
    for (const question of ['E-mail: ', 'Password: ']) {
      const { url, received } = await answering(t)
      const { terminal, written, raw, file } = seat(t, {
        'E-mail: ': 'anna@example.org\r',
        'Password: ': `${PASSWORD}\r`,
        [question]: key
      })
      t.equal(await run(['login', '--url', url], terminal), 130)
      t.match(written.stderr, /Interrotto\n$/)
      t.same(received.map(({ url }) => url), ['/api/config'])
      t.notOk(existsSync(file))
      t.equal(raw.at(-1), false)
    }
  }
})

t.test('an unreachable server is reported before any question', async (t) => {
  const { url } = await standIn(t, { 'GET /api/config': 'never' })
  const { terminal, written } = seat(t)
  t.equal(await run(['login', '--url', url], { ...terminal, timeoutMs: 50 }), 4)
  t.equal(written.stderr, `Errore: Server non raggiungibile: ${url} (nessuna risposta in tempo)\n`)
})

t.test('a file without a key is reported without a quote of its content, and is not overwritten', async (t) => {
  const { url, received } = await answering(t)
  for (const content of [
    'CANARY',
    '{"url":"CANARY"}',
    '[]',
    'null',
    JSON.stringify({ url, id: 'a', key: 'CANARY\nriga', expires_at: 'b' }),
    JSON.stringify({ url: 'CANARY', id: 'a', key: 'b', expires_at: 'c' })
  ]) {
    for (const args of [['prenotazioni', 'list'], ['logout'], ['login', '--email', 'anna@example.org']]) {
      const { terminal, written, file } = seat(t)
      mkdirSync(join(file, '..'), { recursive: true })
      writeFileSync(file, content, { mode: 0o600 })
      t.equal(await run(args, terminal), 1, content)
      t.match(written.stderr, /^Errore: [^\n]+\n$/)
      t.match(written.stderr, file)
      t.notMatch(written.stderr, 'CANARY')
      t.equal(readFileSync(file, 'utf8'), content)
    }
  }
  t.same(received, [])
})

t.test('a file that others can read causes one warning', async (t) => {
  const { url } = await answering(t, { 'GET /api/v1/prenotazioni': { body: { data: [] } } })
  const { terminal, written, file } = seat(t)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, JSON.stringify({ url, id: 'a', key: 'b', expires_at: 'c' }), { mode: 0o644 })
  t.equal(await run(['prenotazioni', 'list'], terminal), 0)
  t.match(written.stderr, /^Attenzione: [^\n]*chmod 600\n$/)
})
