import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { freePort } from '#test/free-port.ts'
import { codeOf, forgetCodes } from '#test/identity/factors/authenticator.ts'
import { type VisitorBrowser, visitorBrowser } from '#test/identity/pages/visitor.ts'
import { account, EMAIL, keysOf, PASSWORD } from './account.ts'
import { begin } from './by-browser.ts'
import { errorOf, user } from './process.ts'
import { site } from './site.ts'

const server = await site(t, { RATE_LIMIT_LOGIN_MAX: '1000', CORS_ORIGINS: 'https://app.example' })
const { app, url, logs } = server
await account(server)
const LOGIN = ['login', '--email', EMAIL]
const env = { LOCANDA_URL: url, LOCANDA_PASSWORD: PASSWORD }
const LIST = ['prenotazioni', 'list']

/** The address to which the page sends the browser back. */
function backOf (browser: VisitorBrowser): string {
  return /^0;url=(.*)$/.exec(String(browser.page().headers.refresh))?.[1] ?? ''
}

async function signIn (page: string): Promise<VisitorBrowser> {
  const browser = await visitorBrowser(app).open(page)
  return await browser.submit('/auth/accedi', { email: EMAIL, password: PASSWORD })
}

t.test("login keeps a key that works, in a file of the user's alone, and shows neither key nor password", async (t) => {
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
  t.same(readdirSync(dirname(file)), ['config.json'], 'and nothing beside it')
  t.equal((await run(LIST)).code, 0)
  t.match((await keysOf(server)).at(-1), { id: rest.id, name: hostname().slice(0, 100), days: 90, revoked: false })
})

t.test('the sign-in itself is ended again', async (t) => {
  t.equal((await user(t).run(LOGIN, { env })).code, 0)
  t.same(await app.sql`select from sessions`, [])
})

t.test('with --json login says what it keeps but the key', async (t) => {
  const { run, kept } = user(t)
  const { code, stdout } = await run(['--json', ...LOGIN], { env })
  t.equal(code, 0)
  const { id, expires_at } = kept()
  t.strictSame(JSON.parse(stdout), { url, id, expires_at })
})

t.test('the password is the first line of standard input, or LOCANDA_PASSWORD', async (t) => {
  const { run } = user(t)
  for (const input of [PASSWORD, `${PASSWORD}\n`, `${PASSWORD}\r\naltro\n`]) {
    t.equal((await run(LOGIN, { env: { LOCANDA_URL: url }, input })).code, 0)
  }
  t.equal((await run(LOGIN, { env, input: 'un-altra\n' })).code, 0)
  for (const input of ['', '\n', `\n${PASSWORD}`]) {
    t.match(await run(LOGIN, { env: { LOCANDA_URL: url }, input }), { code: 2, stderr: 'Errore: Manca la password\n' })
  }
})

t.test('wrong credentials end with 3, and nothing is kept', async (t) => {
  const { act, file } = user(t)
  for (const [email, password] of [[EMAIL, `${PASSWORD}x`], ['nessuno@example.org', PASSWORD]] as const) {
    const refused = await act(['login', '--email', email], { env: { ...env, LOCANDA_PASSWORD: password } })
    t.same(refused, { code: 3, stdout: '', stderr: 'Errore: E-mail o password non corrette\n' })
  }
  t.match(errorOf(await act(['--json', ...LOGIN], { env: { ...env, LOCANDA_PASSWORD: 'x' } })), {
    codice: 'INVALID_CREDENTIALS',
    uscita: 3
  })
  t.throws(() => statSync(file), { code: 'ENOENT' })
})

t.test('a person who is banned, or whose address is not confirmed, is told so', async (t) => {
  await account(server, { email: 'sospesa@example.org', ban_duration: '24h' })
  await account(server, { email: 'nuova@example.org', email_confirm: false })
  const { act } = user(t)
  t.match(await act(['login', '--email', 'sospesa@example.org'], { env }), {
    code: 3,
    stderr: /^Errore: [^\n]*sospeso[^\n]*\n$/
  })
  t.match(await act(['login', '--email', 'nuova@example.org'], { env }), {
    code: 3,
    stderr: /^Errore: [^\n]*confermato[^\n]*\n$/
  })
})

t.test('too many attempts end with 1 and the seconds to wait', async (t) => {
  const strict = await site(t, { RATE_LIMIT_LOGIN_MAX: '1' })
  const { act } = user(t)
  const attempt = () => act(LOGIN, { env: { LOCANDA_URL: strict.url, LOCANDA_PASSWORD: 'sbagliata' } })
  t.equal((await attempt()).code, 3)
  t.match(await attempt(), {
    code: 1,
    stdout: '',
    stderr: /^Errore: Troppi tentativi di accesso: riprovare fra \d+ secondi\n$/
  })
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
  t.equal(statSync(dirname(file)).mode & 0o777, 0o700, 'the folder is closed again')
})

t.test('a login after the first key has gone bad replaces it without a word', async (t) => {
  const { act, keep } = user(t)
  keep({ url, key: 'scaduta-da-molto' })
  t.match(await act(LOGIN, { env }), { code: 0, stderr: '' })
})

t.test('the first key of another server that is gone is left, and named', async (t) => {
  const { act, keep } = user(t)
  keep({ url: `http://127.0.0.1:${await freePort()}`, key: 'altrove', id: 'feedfeedfeedfeed' })
  t.match(await act(LOGIN, { env }), {
    code: 0,
    stderr:
      /^Attenzione: la chiave precedente \(feedfeedfeedfeed, di http:\/\/127\.0\.0\.1:\d+\) non è stata revocata: vale fino al 2099-01-01\n$/
  })
})

t.test('a key that cannot be kept is revoked again', async (t) => {
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

t.test('logout revokes the key and forgets it', async (t) => {
  const { run, file, kept } = user(t)
  await run(LOGIN, { env })
  const { id } = kept()
  const out = await run(['logout'])
  t.match(out, { code: 0, stderr: '', stdout: /^La chiave per http[^\n]+\n$/ })
  t.match((await keysOf(server)).find((key) => key.id === id), { revoked: true })
  t.throws(() => statSync(file), { code: 'ENOENT' })
  t.match(await run(['logout']), { code: 3, stderr: /«locanda login»/ }, 'once is enough')
})

t.test('a key that is expired or revoked ends with 3 and the advice; logout forgets it all the same', async (t) => {
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

t.test('when the server cannot be reached logout keeps the key, which is still good', async (t) => {
  const { act, file, keep } = user(t)
  keep({ url: `http://127.0.0.1:${await freePort()}`, key: 'altrove' })
  const { code, stderr } = await act(['logout'])
  t.equal(code, 4)
  t.match(stderr, file)
  t.ok(statSync(file))
})

t.test('key makes a further key, shows it alone and once, and keeps nothing', async (t) => {
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

t.test('with --json key shows the whole object, and one scope can be repeated', async (t) => {
  const { run } = user(t)
  const { code, stdout, stderr } = await run(
    ['--json', 'key', '--email', EMAIL, '--scope', 'lettura', '--scope', 'scrittura'],
    { env }
  )
  t.equal(code, 0, stderr)
  t.equal(stderr, '')
  t.match(JSON.parse(stdout), { apiKey: String, id: String, created_at: String, expires_at: String })
  t.match((await keysOf(server)).at(-1), { scopes: ['lettura', 'scrittura'], days: 90 })
})

t.test('key wants the password even where a key is kept', async (t) => {
  const { act } = user(t)
  await act(LOGIN, { env })
  t.equal((await act(['key', '--email', EMAIL], { env: { ...env, LOCANDA_PASSWORD: 'sbagliata' } })).code, 3)
  t.equal((await act(['key', '--email', EMAIL], { env: { LOCANDA_URL: url } })).code, 2)
})

t.test('a request that a key may not make ends with 1 and the server\'s words', async (t) => {
  const { act, keep } = user(t)
  const made = await act(['key', '--email', EMAIL, '--scope', 'lettura'], { env })
  keep({ url, key: made.stdout.trim() })
  t.equal((await act(LIST)).code, 0)
  t.match(await act(['alloggiati', 'invio', '--test', '--prenotazione', '1']), {
    code: 1,
    stderr: /^Errore: Questa chiave non è abilitata[^\n]*\n$/
  })
})

t.test('a person signs in on the pages, and the program gets a key without seeing the password', async (t) => {
  const { code, page, said, out } = await begin(t, url, ['login', '--browser'])
  t.match(said, /^Aprire nel browser di questo computer, e accedere:\nhttp.*\n$/)
  t.match(new URL(page).searchParams.get('redirect_to'), /^http:\/\/127\.0\.0\.1:\d+\/[\da-f]{32}$/)
  const browser = await signIn(page)
  t.match(browser.page().body, 'Un programma di questo computer')
  t.equal(backOf(browser), '', 'to sign in agrees to nothing: somebody else may have sent the person')
  await browser.submit('/auth/accedi/continua')
  const back = backOf(browser)
  for (const other of ['/', '//', '/favicon.ico', `/?code=${'a'.repeat(36)}`]) {
    t.equal((await fetch(new URL(back).origin + other)).status, 404, 'nobody else is listened to')
  }
  const answer = await fetch(back)
  t.match(await answer.text(), 'Ricevuto')
  t.equal(await code, 0)
  t.match(await out, /^Accesso a http.* riuscito/)
  t.match((await keysOf(server)).at(-1), { name: 'portatile', days: 90, revoked: false })
  t.equal((await app.sql`select from sessions`).length, 1, 'that of the pages: the program has ended its own')
  await t.rejects(fetch(back), 'and listens no more')
})

t.test('a person who is signed in already is asked whether a program of this computer may', async (t) => {
  const first = await begin(t, url, ['login', '--browser'])
  const browser = await signIn(first.page)
  await browser.submit('/auth/accedi/continua')
  await fetch(backOf(browser))
  t.equal(await first.code, 0)
  const { code, page, out } = await begin(t, url, ['key', '--browser', '--giorni', '3'])
  await browser.open(page)
  t.match(browser.page().body, 'Un programma di questo computer')
  t.equal(backOf(browser), '', 'the address alone gives nothing away')
  await browser.submit('/auth/accedi/continua')
  await fetch(backOf(browser))
  t.equal(await code, 0)
  t.match(await out, /^lk_|\w{20,}/)
  t.match((await keysOf(server)).at(-1), { days: 3 })
})

t.test('the button agrees to the program that the page named, and to no other', async (t) => {
  const asking = (port: number) =>
    `/auth/accedi?redirect_to=${encodeURIComponent(`http://127.0.0.1:${port}/`)}` +
    `&code_challenge=${'a'.repeat(43)}&code_challenge_method=s256`
  const browser = await signIn(asking(4001))
  const answer = async (fields: Record<string, string>) => {
    await browser.submit('/auth/accedi/continua', fields)
    return backOf(browser)
  }
  const seen = /name="app" value="([^"]+)"/.exec(browser.page().body)![1]!
  await browser.open(asking(4002))
  t.equal(await answer({ app: seen }), '', 'another page has asked meanwhile: the person is asked anew')
  t.match(browser.page().body, 'Un programma di questo computer')
  t.match(await answer({}), /^http:\/\/127\.0\.0\.1:4002\/\?code=/)
})

t.test('a person who declines, or signs out, is not asked again; another account may answer', async (t) => {
  const { page } = await begin(t, url, ['login', '--browser'], 300)
  const { host } = new URL(new URL(page).searchParams.get('redirect_to')!)
  const asks = (browser: VisitorBrowser) => browser.page().body.includes(host)
  const browser = await signIn(page)
  t.ok(asks(browser))
  t.ok(asks(await browser.open('/auth/account')), 'the account says who asks, too')
  await browser.submit('/auth/accedi/rifiuta')
  t.equal(browser.page().path, '/auth/account')
  t.notOk(asks(browser))
  await browser.open(page)
  await browser.submit('/auth/esci')
  await browser.submit('/auth/accedi', { email: EMAIL, password: PASSWORD })
  t.ok(asks(browser), 'under another name')
  await browser.open('/auth/account')
  await browser.submit('/auth/esci')
  await browser.submit('/auth/accedi', { email: EMAIL, password: PASSWORD })
  t.notOk(asks(browser))
})

t.test('a second factor is proven on the page, and the key counts as made with it', async (t) => {
  const browser = await signIn('/auth/accedi')
  await browser.submit('/auth/account/fattori/nuovo')
  const secret = /<code>([A-Z2-7 ]+)<\/code>/.exec(browser.page().body)![1]!.replaceAll(' ', '')
  await browser.submit('/auth/account/fattori/conferma', { code: codeOf(secret) })
  await forgetCodes(app)
  const { code, page } = await begin(t, url, ['login', '--browser'])
  const other = await signIn(page)
  t.equal(other.page().path, '/auth/verifica')
  await other.submit('/auth/verifica', { code: codeOf(secret) })
  t.match(other.page().body, 'Un programma di questo computer')
  await other.submit('/auth/accedi/continua')
  await fetch(backOf(other))
  t.equal(await code, 0)
  t.match(await app.sql`select second_factor from api_keys order by created_at desc limit 1`, [{ second_factor: true }])
})

t.test('a recent proof that is required is asked for before the question', async (t) => {
  const strict = await site(t, { RATE_LIMIT_LOGIN_MAX: '1000', REQUIRE_RECENT_MFA: 'true' })
  await account(strict)
  const browser = await visitorBrowser(strict.app).open('/auth/accedi')
  await browser.submit('/auth/accedi', { email: EMAIL, password: PASSWORD })
  await browser.submit('/auth/account/fattori/nuovo')
  const secret = /<code>([A-Z2-7 ]+)<\/code>/.exec(browser.page().body)![1]!.replaceAll(' ', '')
  await browser.submit('/auth/account/fattori/conferma', { code: codeOf(secret) })
  await forgetCodes(strict.app)
  await strict.app.sql`update sessions set amr = (
    select jsonb_agg(each || jsonb_build_object('timestamp', (each->>'timestamp')::int - 3600))
    from jsonb_array_elements(amr) as each)`
  await strict.app.identity.waitForListeners()
  const { code, page } = await begin(t, strict.url, ['login', '--browser'])
  await browser.open(page)
  t.equal(browser.page().path, '/auth/verifica')
  await browser.submit('/auth/verifica', { code: codeOf(secret) })
  t.match(browser.page().body, 'Un programma di questo computer')
  await browser.submit('/auth/accedi/continua')
  await fetch(backOf(browser))
  t.equal(await code, 0)
  t.match(await keysOf(strict), [{ name: 'portatile' }])
})

t.test('an address of this machine is one of a program only as a program would write it', async (t) => {
  const challenge = '&code_challenge=' + 'a'.repeat(43) + '&code_challenge_method=s256'
  const asked = async (redirect: string, more = challenge) =>
    (await app.inject(`/auth/accedi?redirect_to=${encodeURIComponent(redirect)}${more}`)).statusCode
  t.equal(await asked('http://127.0.0.1:4000/abc'), 200)
  t.equal(await asked('http://[::1]:4000/'), 200)
  for (const wrong of [
    'https://127.0.0.1:4000/', 'http://localhost:4000/', 'http://127.0.0.1.evil.example/', 'http://a@127.0.0.1/',
    'http://127.0.0.1:4000/a/b', 'http://127.0.0.1:4000/?a=b', 'http://127.0.0.1:4000/#a', 'http://127.0.0.2/'
  ]) t.equal(await asked(wrong), 400, wrong)
  t.equal(await asked('http://127.0.0.1:4000/', ''), 400, 'and only with a challenge')
  const link = new URLSearchParams({ redirect_to: 'http://127.0.0.1:4000/' })
  const landed = await app.inject(`/auth/v1/verify?token=x&type=recovery&${link.toString()}`)
  t.notMatch(landed.headers.location ?? '', '127.0.0.1:4000', 'no link of a mail leads there')
})

t.test('a program that nobody answers gives up, and one without pages to go to says so', async (t) => {
  const { code } = await begin(t, url, ['login', '--browser'], 300)
  t.equal(await code, 3)
  const { run: runHere } = user(t)
  t.match(await runHere(['login', '--browser', '--email', EMAIL], { env: { LOCANDA_URL: url } }), {
    code: 2, stderr: /senza --email/
  })
})
