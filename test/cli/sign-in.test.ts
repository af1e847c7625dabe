import { existsSync, rmSync } from 'node:fs'
import t, { type Test } from 'tap'
import { errorOf, user } from './process.ts'
import { standIn, type Received, type Replies, type Reply } from './stand-in.ts'

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
  const cases: [reply: Reply, code: number, codice: string, says: string][] = [
    [
      { status: 400, body: { code: 400, error_code: 'invalid_credentials', msg: 'Invalid login credentials' } },
      3,
      'INVALID_CREDENTIALS',
      'E-mail o password non corrette'
    ],
    [
      { status: 400, body: { code: 'invalid_credentials', message: 'Invalid login credentials' } },
      3,
      'INVALID_CREDENTIALS',
      'E-mail o password non corrette'
    ],
    [
      { status: 400, body: { code: 400, error_code: 'user_banned', msg: 'User is banned' } },
      3,
      'USER_BANNED',
      'sospeso'
    ],
    [
      { status: 400, body: { code: 400, error_code: 'email_not_confirmed', msg: 'Email not confirmed' } },
      3,
      'EMAIL_NOT_CONFIRMED',
      'confermato'
    ],
    [
      { status: 422, body: { code: 422, error_code: 'email_provider_disabled', msg: 'no' } },
      3,
      'EMAIL_PROVIDER_DISABLED',
      'email_provider_disabled'
    ],
    [
      {
        status: 429,
        headers: { 'retry-after': '42' },
        body: { code: 429, error_code: 'over_request_rate_limit', msg: 'x' }
      },
      1,
      'OVER_REQUEST_RATE_LIMIT',
      'fra 42 secondi'
    ],
    [
      { status: 429, body: { code: 429, error_code: 'over_request_rate_limit', msg: 'x' } },
      1,
      'OVER_REQUEST_RATE_LIMIT',
      'più tardi'
    ],
    [{ status: 403, body: '<html>no</html>' }, 3, 'STATO_403', '403'],
    [{ status: 500, body: { code: 500, error_code: 'unexpected_failure', msg: 'x' } }, 1, 'STATO_500', '500']
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
      'http://locanda.example',
      'http://127.0.0.1.example',
      'http://localhost.example:3000',
      'http://10.0.0.1'
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

t.test('what is no key, and what is no server, is kept by nobody', async (t) => {
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
