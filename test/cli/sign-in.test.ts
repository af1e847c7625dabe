import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import t, { type Test } from 'tap'
import { run } from '#src/cli/run.ts'
import { temporaryFolder } from '#test/helper.ts'
import { errorOf, user } from './process.ts'
import { type Received, type Replies, type Reply, standIn } from './stand-in.ts'

const PASSWORD = 'CANARY-una-frase-lunga'
const LOGIN = ['login', '--email', 'anna@example.org']
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

/** A server and, at another address, its identity provider, in which all goes well but what is said otherwise. */
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

/** A terminal at which somebody types, after each question, what is answered here. */
function seat (t: Test, answers: Record<string, string> = {}) {
  const raw: boolean[] = []
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (mode: boolean) => { raw.push(mode) } })
  const written = { stdout: '', stderr: '' }
  const questions = Object.keys(answers)
  const stdout = new Writable({ write: (chunk, _encoding, done) => { written.stdout += chunk; done() } })
  const stderr = new Writable({
    write (chunk, _encoding, done) {
      written.stderr += chunk
      const asked = questions.find((question) => String(chunk).endsWith(question))
      if (asked !== undefined) setImmediate(() => stdin.write(answers[asked]))
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
  'the password goes to the provider that the server names and nowhere else; the token makes a key, and is ended',
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

t.test("the provider's refusals, in both spellings, end with 3 and an Italian line, and nothing is kept", async (t) => {
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
    const told = await login()
    t.equal(told.code, code, codice)
    t.match(told.stderr, /^Errore: [^\n]+\n$/)
    t.match(told.stderr, says)
    t.match(errorOf(await login(['--json', ...LOGIN])), { codice, uscita: code })
    t.notOk(existsSync(file))
    t.notMatch(asked(api.received), ['GET /api/cli/auth/key'])
  }
})

t.test('when no key is made the sign-in is ended all the same', async (t) => {
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

t.test('a sign-in that cannot be ended is a warning, not a failure', async (t) => {
  const { login, kept, file } = await parts(t, { provider: { 'POST /auth/v1/logout': { status: 500, body: {} } } })
  t.match(await login(), { code: 0, stderr: /^Attenzione: [^\n]*sessione[^\n]*\n$/ })
  t.equal(kept().key, KEY.apiKey)
  rmSync(file)
  t.match(JSON.parse((await login(['--json', ...LOGIN])).stderr), { warning: { messaggio: /sessione/ } })
})

t.test('a password is never sent over http to another machine, by whoever it is named', async (t) => {
  const elsewhere = await parts(t, {
    server: { 'GET /api/config': { body: { backendUrl: 'http://auth.locanda.example', backendKey: 'anonima' } } }
  })
  t.match(await elsewhere.login(), {
    code: 1,
    stderr: /^Errore: La password non viene inviata in chiaro a http:\/\/auth\.locanda\.example: [^\n]+\n$/
  })
  t.same(asked(elsewhere.api.received), ['GET /api/config'])

  const { act } = user(t)
  for (const command of [LOGIN, ['key', '--email', 'anna@example.org']]) {
    // Nobody is asked: these names are not even looked up.
    for (const url of [
      'http://locanda.example', 'http://127.0.0.1.example', 'http://localhost.example:3000', 'http://10.0.0.1'
    ]) {
      const { code, stderr } = await act([...command, '--url', url], { input: PASSWORD })
      t.equal(code, 2, url)
      t.match(stderr, 'in chiaro')
    }
  }
})

t.test('a key over http to another machine is a warning, said once', async (t) => {
  const { url, received } = await standIn(t, {
    'GET /api/v1/prenotazioni/1': { body: { data: BOOKING } },
    'GET /api/v1/paesi': { body: { data: [] } }
  })
  const { act, keep } = user(t)
  // Loopback by a name that this program does not take for it.
  keep({ url: url.replace('127.0.0.1', '[::ffff:127.0.0.1]'), key: 'lcd_chiave' })
  const { code, stderr } = await act(['prenotazioni', 'show', '1'])
  t.equal(code, 0)
  t.match(stderr, /^Attenzione: [^\n]*in chiaro[^\n]*\n$/)
  t.equal(received.length, 2)
})

t.test('an answer without a key, or of another server, is not kept', async (t) => {
  for (const server of [
    { 'GET /api/cli/auth/key': { body: { ...KEY, apiKey: 'riga\r\nnuova' } } },
    { 'GET /api/cli/auth/key': { body: { ...KEY, apiKey: 7 } } },
    { 'GET /api/config': { body: '<html></html>' } },
    { 'GET /api/config': { body: { backendUrl: 'http://127.0.0.1' } } },
    { 'GET /api/config': { body: { backendUrl: 'altrove', backendKey: 'anonima' } } }
  ]) {
    const { login, file } = await parts(t, { server })
    t.match(await login(), { code: 1, stdout: '', stderr: /^Errore: [^\n]+\n$/ })
    t.notOk(existsSync(file))
  }
})

t.test('at a terminal the code of a second factor is asked for, after the password', async (t) => {
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

t.test('at a terminal e-mail and password are asked for, and the password is not shown', async (t) => {
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
  t.equal(raw.at(-1), false, 'the terminal is left as it was')
})

t.test('a correction while typing counts', async (t) => {
  const { url, received } = await answering(t)
  const { terminal } = seat(t, { 'Password: ': `${PASSWORD}xy\u007f\u007f\r` })
  t.equal(await run(['login', '--url', url, '--email', 'anna@example.org'], terminal), 0)
  t.match(received.find(({ url }) => url.startsWith('/auth/v1/token'))?.body, `"${PASSWORD}"`)
})

t.test('Ctrl-C and Ctrl-D at a question leave with 130, and nothing is sent or kept', async (t) => {
  for (const key of ['\u0003', '\u0004']) {
    for (const question of ['E-mail: ', 'Password: ']) {
      const { url, received } = await answering(t)
      const { terminal, written, raw, file } = seat(t, {
        'E-mail: ': 'anna@example.org\r',
        'Password: ': `${PASSWORD}\r`,
        [question]: key
      })
      t.equal(await run(['login', '--url', url], terminal), 130)
      t.match(written.stderr, /\nInterrotto\n$/)
      t.same(received.map(({ url }) => url), ['/api/config'])
      t.notOk(existsSync(file))
      t.equal(raw.at(-1), false)
    }
  }
})

t.test('a server that is not there is said before anything is asked', async (t) => {
  const { url } = await standIn(t, { 'GET /api/config': 'never' })
  const { terminal, written } = seat(t)
  t.equal(await run(['login', '--url', url], { ...terminal, timeoutMs: 50 }), 4)
  t.equal(written.stderr, `Errore: Server non raggiungibile: ${url} (nessuna risposta in tempo)\n`)
})

t.test('a file that holds no key is said without quoting it, and is not overwritten', async (t) => {
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

t.test('a file that others can read is a warning, said once', async (t) => {
  const { url } = await answering(t, { 'GET /api/v1/prenotazioni': { body: { data: [] } } })
  const { terminal, written, file } = seat(t)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, JSON.stringify({ url, id: 'a', key: 'b', expires_at: 'c' }), { mode: 0o644 })
  t.equal(await run(['prenotazioni', 'list'], terminal), 0)
  t.match(written.stderr, /^Attenzione: [^\n]*chmod 600\n$/)
})

t.test('XDG_CONFIG_HOME says where the key is kept, if it is absolute', async (t) => {
  const { url } = await answering(t)
  const elsewhere = temporaryFolder(t)
  for (const [XDG_CONFIG_HOME, isTaken] of [[elsewhere, true], ['relativa', false], ['', false]] as const) {
    const { terminal, file } = seat(t, { 'Password: ': `${PASSWORD}\r` })
    t.equal(
      await run(['login', '--url', url, '--email', 'anna@example.org'], { ...terminal, env: { XDG_CONFIG_HOME } }),
      0
    )
    t.ok(existsSync(isTaken ? join(elsewhere, 'locanda/config.json') : file))
  }
})
