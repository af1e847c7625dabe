import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import t, { type Test } from 'tap'
import { run } from '#src/cli/run.ts'
import { temporaryFolder } from '#test/helper.ts'
import { standIn, type Replies } from './stand-in.ts'

const PASSWORD = 'CANARY-una-frase-lunga'
const KEY = {
  apiKey: 'lcd_chiave',
  id: '0123456789abcdef',
  created_at: '2026-11-21T09:30:00.000Z',
  expires_at: '2027-02-19T09:30:00.000Z'
}

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

async function server (t: Test, replies: Replies = {}) {
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

t.test('at a terminal the code of a second factor is asked for, after the password', async (t) => {
  const factor = { id: '0b7c8a7e-51c4-4f3e-8a54-0d7d0c9b5a11', factor_type: 'totp', status: 'verified' }
  const path = `POST /auth/v1/factors/${factor.id}`
  const { url, received } = await server(t, {
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
  const { url, received } = await server(t)
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

t.test('what is mended while typing counts as mended', async (t) => {
  const { url, received } = await server(t)
  const { terminal } = seat(t, { 'Password: ': `${PASSWORD}xy\u007f\u007f\r` })
  t.equal(await run(['login', '--url', url, '--email', 'anna@example.org'], terminal), 0)
  t.match(received.find(({ url }) => url.startsWith('/auth/v1/token'))?.body, `"${PASSWORD}"`)
})

t.test('Ctrl-C and Ctrl-D at a question leave with 130, and nothing is sent or kept', async (t) => {
  for (const key of ['\u0003', '\u0004']) {
    for (const question of ['E-mail: ', 'Password: ']) {
      const { url, received } = await server(t)
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
  const { url, received } = await server(t)
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
  const { url } = await server(t, { 'GET /api/v1/prenotazioni': { body: { data: [] } } })
  const { terminal, written, file } = seat(t)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, JSON.stringify({ url, id: 'a', key: 'b', expires_at: 'c' }), { mode: 0o644 })
  t.equal(await run(['prenotazioni', 'list'], terminal), 0)
  t.match(written.stderr, /^Attenzione: [^\n]*chmod 600\n$/)
})

t.test('XDG_CONFIG_HOME says where the key is kept, if it is absolute', async (t) => {
  const { url } = await server(t)
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
