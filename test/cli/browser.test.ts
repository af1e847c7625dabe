import t from 'tap'
import { codeOf, forgetCodes } from '#test/identity/factors/authenticator.ts'
import { visitorBrowser, type VisitorBrowser } from '#test/identity/pages/visitor.ts'
import { account, EMAIL, keysOf, PASSWORD } from './account.ts'
import { begin } from './by-browser.ts'
import { user } from './process.ts'
import { site } from './site.ts'

const server = await site(t, { RATE_LIMIT_LOGIN_MAX: '1000', CORS_ORIGINS: 'https://app.example' })
const { app, url } = server
await account(server)

/** Where the page leads the browser back to. */
function backOf (browser: VisitorBrowser): string {
  return /^0;url=(.*)$/.exec(String(browser.page().headers.refresh))?.[1] ?? ''
}

async function signIn (page: string): Promise<VisitorBrowser> {
  const browser = await visitorBrowser(app).open(page)
  return await browser.submit('/auth/accedi', { email: EMAIL, password: PASSWORD })
}

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

t.test('who is signed in already is asked whether a program of this computer may', async (t) => {
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

t.test('who declines, or signs out, is not asked again; another account may answer', async (t) => {
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

t.test('where a recent proof is wanted, it is asked for before the question', async (t) => {
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
