import { join } from 'node:path'
import t from 'tap'
import { VERSION } from '#src/lib/version.ts'
import { selfSigned } from '#test/alloggiati/service/soap/certificate.ts'
import { freePort } from '#test/free-port.ts'
import { API_KEY } from '#test/helper.ts'
import { errorOf, user } from './process.ts'
import { site } from './site.ts'
import { standIn } from './stand-in.ts'

const COMMANDS: readonly string[][] = [
  ['login'], ['logout'], ['key'], ['prenotazioni', 'list'], ['prenotazioni', 'show'], ['alloggiati', 'check'],
  ['alloggiati', 'valida'], ['alloggiati', 'invio'], ['admin', 'create'], ['admin', 'reset-password'], ['service-key']
]
/** Commander's English texts. */
const ENGLISH = /usage:|options:|commands:|arguments:|display|output the|\boptions?\b|\[command\]|default:/i

const KEY = 'CANARY-chiave'
const LIST = ['prenotazioni', 'list']
const folder = t.testdir()
const certificate = selfSigned(folder, 'IP:127.0.0.1')
const skip = certificate === undefined ? 'openssl is not installed: no certificate to test with' : false
const EMPTY = { body: { data: [] } }

t.test('the listed commands and the whole program have Italian help on standard output', async (t) => {
  const { act } = user(t)
  for (const command of [[], ['prenotazioni'], ['alloggiati'], ...COMMANDS]) {
    const { code, stdout, stderr } = await act([...command, '--help'])
    t.equal(code, 0, command.join(' '))
    t.equal(stderr, '')
    t.match(stdout, new RegExp(`^Uso: ${['locanda', ...command].join(' ')}\\b`))
    t.match(stdout, '--json')
    t.notMatch(stdout, ENGLISH)
  }
})

t.test('--version is the version of the package', async (t) => {
  t.same(await user(t).run(['--version']), { code: 0, stdout: `${VERSION}\n`, stderr: '' })
})

t.test(
  'after a usage error the tool exits with 2, one line about it on standard error, and no standard output',
  async (t) => {
    const { act } = user(t)
    const cases: [args: string[], says: string | RegExp][] = [
      [['prenotazzioni'], '«prenotazzioni»: forse prenotazioni?'],
      [['login', '--emial', 'x'], '«--emial»: forse --email?'],
      [['login', '--email'], '--email'],
      [['login', 'anna@example.com'], 'Troppi argomenti'],
      [['login'], '--email'],
      [['login', '--email', 'anna@example.com', '--password', 'CANARY'], '--password'],
      [['prenotazioni', 'show'], 'id'],
      [['prenotazioni', 'show', '0'], 'id'],
      [['prenotazioni', 'show', '1e3'], 'id'],
      [['prenotazioni', 'show', '2147483648'], 'id'],
      [['prenotazioni', 'list', '--da', '2026-02-30'], '--da'],
      [['prenotazioni', 'list', '--a', 'oggi'], '--a'],
      [['prenotazioni', 'list', '--limit', '1001'], '--limit'],
      [['prenotazioni', 'list', '--sort', 'nome'], '--sort'],
      [['admin', 'create'], '--email'],
      [['admin', 'reset-password', '--genera'], '--email'],
      [['key', '--giorni', '366'], '--giorni'],
      [['key', '--scope', 'lettura', 'tutto'], '--scope'],
      [['alloggiati', 'valida'], '--prenotazione'],
      [['alloggiati', 'valida', 'schedine.json', '--prenotazione', '1'], '--prenotazione'],
      [['alloggiati', 'valida', 'schedine.json', '--appartamento', '1'], '--appartamento'],
      [['prenotazioni', 'list', '--url', 'ftp://127.0.0.1'], '--url'],
      [['prenotazioni', 'list', '--url', 'http://127.0.0.1/?x=1'], '--url'],
      [['prenotazioni', 'list', '--url', 'locanda'], '--url']
    ]
    for (const [args, says] of cases) {
      const { code, stdout, stderr } = await act(args)
      t.equal(code, 2, args.join(' '))
      t.equal(stdout, '')
      t.match(stderr, /^Errore: [^\n]+\n$/)
      t.match(stderr, says)
      t.notMatch(stderr, 'CANARY')
    }
  }
)

t.test('a URL with a password, as option or in the environment, is refused and not repeated', async (t) => {
  const { act } = user(t)
  for (const ended of [
    await act(['prenotazioni', 'list', '--url', 'http://anna:CANARY@127.0.0.1']),
    await act(['prenotazioni', 'list'], { env: { LOCANDA_URL: 'http://anna:CANARY@127.0.0.1' } })
  ]) {
    t.equal(ended.code, 2)
    t.match(ended.stderr, /--url|LOCANDA_URL/)
    t.notMatch(ended.stderr, 'CANARY')
  }
})

t.test('with --json an error is one object on standard error', async (t) => {
  const { act } = user(t)
  for (const args of [
    ['prenotazzioni'],
    ['login', '--emial', 'x'],
    ['prenotazioni', 'show', 'x'],
    ['prenotazioni'],
    ['alloggiati', 'valida']
  ]) {
    const ended = await act(['--json', ...args])
    t.equal(ended.code, 2, args.join(' '))
    t.equal(ended.stdout, '')
    t.strictSame(Object.keys(errorOf(ended)), ['codice', 'messaggio', 'uscita'])
    t.match(errorOf(ended), { codice: 'USO_NON_VALIDO', messaggio: /./, uscita: 2 })
  }
  t.equal(errorOf(await act(['prenotazioni', '--json', 'list'])).codice, 'NON_AUTENTICATO', 'in any position')
  t.equal(errorOf(await act(['prenotazioni', 'list', '--json'])).codice, 'NON_AUTENTICATO')
})

t.test('a real Send is refused, for a file, a booking and standard input', async (t) => {
  const { act } = user(t)
  for (const args of [['schedine.json'], ['--prenotazione', '1'], ['-']]) {
    const { code, stdout, stderr } = await act(['alloggiati', 'invio', ...args], {
      input: '{"ospiti":[],"prenotazione":{},"testMode":true}'
    })
    t.equal(code, 2)
    t.equal(stdout, '')
    t.match(stderr, /--test/)
  }
})

t.test('the real process exits with 0, 2 or 3, and separates results from errors', async (t) => {
  const { run } = user(t)
  t.match(await run(['--help']), { code: 0, stdout: /^Uso: locanda/, stderr: '' })
  t.match(await run(['prenotazzioni']), { code: 2, stdout: '', stderr: /^Errore: [^\n]+\n$/ })
  t.match(errorOf(await run(['--json', 'prenotazioni', 'list'])), { uscita: 3 })
})

t.test('when the server is unreachable commands exit with 4 and one line', async (t) => {
  const { run, act, keep } = user(t)
  const url = `http://127.0.0.1:${await freePort()}`
  keep({ url, key: KEY })
  for (const args of [
    LIST,
    ['prenotazioni', 'show', '1'],
    ['alloggiati', 'check'],
    ['login', '--email', 'anna@example.com'],
    ['key', '--email', 'anna@example.com'],
    ['logout']
  ]) {
    const { code, stdout, stderr } = await act(args, { env: { LOCANDA_PASSWORD: 'CANARY-password' } })
    t.equal(code, 4, args.join(' '))
    t.equal(stdout, '')
    t.match(stderr, /^Errore: Server non raggiungibile: http:\/\/127\.0\.0\.1:\d+ \(connessione rifiutata\)[^\n]*\n$/)
    t.notMatch(stderr, 'CANARY')
  }
  t.match(errorOf(await run(['--json', ...LIST])), { codice: 'SERVER_NON_RAGGIUNGIBILE', uscita: 4 })
})

t.test('without a key the advice is to sign in, without a question', async (t) => {
  const { url, received } = await standIn(t, { 'GET /api/v1/prenotazioni': EMPTY })
  const { act } = user(t)
  const { code, stderr } = await act([...LIST, '--url', url])
  t.equal(code, 3)
  t.match(stderr, /^Errore: [^\n]*«locanda login»\n$/)
  t.same(received, [])
})

t.test('with a key that the server rejects the tool exits with 3 and the same advice', async (t) => {
  const { url } = await site(t)
  const { act, keep } = user(t)
  for (const key of ['nessuna-chiave-0123456789', `${API_KEY}x`]) {
    keep({ url, key })
    for (const args of [
      LIST,
      ['prenotazioni', 'show', '1'],
      ['alloggiati', 'check'],
      ['alloggiati', 'valida', '--prenotazione', '1']
    ]) {
      const { code, stdout, stderr } = await act(args)
      t.equal(code, 3, args.join(' '))
      t.equal(stdout, '')
      t.match(stderr, /^Errore: [^\n]*«locanda login»\n$/)
      t.notMatch(stderr, key)
    }
  }
})

t.test('the URL is --url, else LOCANDA_URL, else the URL of the stored key', async (t) => {
  const { act, keep } = user(t)
  const [first, second, third] = [
    await standIn(t, { 'GET /api/v1/prenotazioni': EMPTY }),
    await standIn(t, {}),
    await standIn(t, {})
  ]
  keep({ url: `${first.url}/`, key: KEY })
  t.equal((await act(LIST)).code, 0)
  t.equal((await act(LIST, { env: { LOCANDA_URL: '' } })).code, 0)
  t.equal((await act([...LIST, '--url', first.url], { env: { LOCANDA_URL: second.url } })).code, 0)
  t.equal(first.received.length, 3)
  t.match((await act(LIST, { env: { LOCANDA_URL: second.url } })).stderr, second.url)
  t.match((await act([...LIST, '--url', third.url], { env: { LOCANDA_URL: second.url } })).stderr, third.url)
})

t.test('the key is sent only to the URL for which it is stored', async (t) => {
  const { act, keep } = user(t)
  const [own, other] = [
    await standIn(t, { 'GET /api/v1/prenotazioni': EMPTY }),
    await standIn(t, { 'GET /api/v1/prenotazioni': EMPTY })
  ]
  keep({ url: own.url, key: KEY })
  for (const url of [other.url, own.url.replace('127.0.0.1', 'localhost'), `${own.url}/altro`]) {
    for (const args of [LIST, ['logout'], ['alloggiati', 'check']]) {
      const { code, stderr } = await act(args, { env: { LOCANDA_URL: url } })
      t.equal(code, 3, url)
      t.match(stderr, '«locanda login»')
    }
  }
  t.same([...own.received, ...other.received], [])
  t.equal((await act(LIST)).code, 0)
  t.equal(own.received[0]?.headers['x-api-key'], KEY)
  t.notMatch(own.received[0]?.url, KEY)
})

t.test('a redirect is not followed, so the key is not forwarded', async (t) => {
  const { act, keep } = user(t)
  const other = await standIn(t, { 'GET /api/v1/prenotazioni': EMPTY })
  for (const status of [301, 302, 307, 308]) {
    const own = await standIn(t, {
      'GET /api/v1/prenotazioni': { status, headers: { location: `${other.url}/api/v1/prenotazioni` } }
    })
    keep({ url: own.url, key: KEY })
    const { code, stdout, stderr } = await act(LIST)
    t.equal(code, 1)
    t.equal(stdout, '')
    t.match(stderr, /quello definitivo con --url/)
  }
  t.same(other.received, [])
})

t.test('after a response of another service the tool exits with 1 and one line', async (t) => {
  const { act, keep } = user(t)
  for (const reply of [
    { body: '<html>Benvenuti</html>' },
    { body: '' },
    { body: '[]' },
    { body: 'null' },
    { body: {} },
    { status: 502, body: '<html>Bad Gateway</html>' },
    { status: 404, body: 'no' },
    { status: 500, body: 'null' },
    { status: 403, body: { error: 7 } }
  ]) {
    const { url } = await standIn(t, { 'GET /api/v1/prenotazioni': reply })
    keep({ url, key: KEY })
    const { code, stdout, stderr } = await act(LIST)
    t.equal(code, 1, JSON.stringify(reply))
    t.equal(stdout, '')
    t.match(stderr, /^Errore: [^\n]+\n$/)
    t.notMatch(stderr, 'imprevisto')
  }
})

t.test('control characters in a server’s response do not reach the terminal', async (t) => {
  const { act, keep } = user(t)
  const hostile = 'Anna\u001b[2J\u009b31m\r\nErrore: finto\u202e'
  const { url } = await standIn(t, {
    'GET /api/v1/prenotazioni': {
      body: {
        data: [
          {
            id: 1,
            check_in: hostile,
            check_out: hostile,
            numero_notti: 1,
            numero_ospiti: 1,
            nome_cognome: hostile,
            idf_gen: hostile
          }
        ]
      }
    },
    'GET /api/v1/prenotazioni/1': { status: 404, body: { error: hostile, codice: 'X' } }
  })
  keep({ url, key: KEY })
  const listed = await act(LIST)
  t.equal(listed.code, 0)
  t.equal(listed.stdout.split('\n').length, 3)
  const refused = await act(['prenotazioni', 'show', '1'])
  t.match(refused.stderr, /^Errore: Anna[^\n]*\n$/)
  t.notMatch(listed.stdout + refused.stderr, /[^\P{Cc}\n]|\u202e/u)
})

t.test(
  'with an unverifiable certificate the tool exits with 4, and verification cannot be turned off',
  { skip },
  async (t) => {
    const { run, keep } = user(t)
    const { url, received } = await standIn(t, { 'GET /api/v1/prenotazioni': EMPTY }, certificate)
    keep({ url, key: KEY })
    const { code, stderr } = await run(LIST)
    t.equal(code, 4)
    t.match(stderr, /\(certificato non valido: [A-Z_]+\)\n$/)
    const careless = await run(LIST, { env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } })
    t.equal(careless.code, 2)
    t.match(careless.stderr, /^Errore: NODE_TLS_REJECT_UNAUTHORIZED=0 [^\n]+\n$/)
    t.same(received, [])
    t.equal(
      (await run(LIST, { env: { NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem') } })).code,
      0,
      "an authority of one's own can be named"
    )
  }
)
