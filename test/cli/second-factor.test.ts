import t from 'tap'
import { codeOf, enrolApp, forgetCodes, personWithApp } from '#test/identity/factors/authenticator.ts'
import { PASSWORD, provider } from '#test/identity/protocol/client.ts'
import { errorOf, user } from './process.ts'

const server = await provider(t)
const { app, url } = server
const { client, person: { email }, app: phone } = await personWithApp(server)
const codes = (await client.auth.mfa.recoveryCodes.generate()).data!.codes
const LOGIN = ['login', '--email', email]
const environ = (code: string) => ({ LOCANDA_URL: url, LOCANDA_PASSWORD: PASSWORD, LOCANDA_CODE: code })

t.test('a login with a second factor keeps a key that works, and ends its session', async (t) => {
  await forgetCodes(app)
  const { act } = user(t)
  t.match(await act(LOGIN, { env: environ(codeOf(phone.secret)) }), { code: 0, stderr: '' })
  t.equal((await act(['prenotazioni', 'list'])).code, 0)
  t.equal((await app.sql`select id from sessions`).length, 1, 'that of the client alone is left')
  t.match(await app.sql`select second_factor from api_keys`, [{ second_factor: true }])
})

t.test('a recovery code is as good as one of the app, once', async (t) => {
  const { act } = user(t)
  t.match(await act(LOGIN, { env: environ(codes[0]!.toUpperCase()) }), { code: 0, stderr: '' })
  t.match(errorOf(await act(['--json', ...LOGIN], { env: environ(codes[0]!) })), { codice: 'MFA_VERIFICATION_FAILED' })
})

t.test('with two apps nobody has to say whose code it is', async (t) => {
  await forgetCodes(app)
  const tablet = await enrolApp(client, 'Tablet')
  await forgetCodes(app)
  t.match(await user(t).act(LOGIN, { env: environ(codeOf(tablet.secret)) }), { code: 0, stderr: '' })
})

t.test('a code of the app may be typed with blanks and dashes', async (t) => {
  for (const between of ['-', ' ', ' – ']) {
    await forgetCodes(app)
    const code = codeOf(phone.secret)
    const typed = `${code.slice(0, 3)}${between}${code.slice(3)}`
    t.match(await user(t).act(LOGIN, { env: environ(typed) }), { code: 0, stderr: '' }, typed)
  }
})

t.test('who has a security key and no app signs in with a recovery code, or is told of the browser', async (t) => {
  const { client, person: { id, email }, app: key } = await personWithApp(server)
  const login = ['login', '--email', email]
  // Devices belong to a domain, and this server is at an IP address.
  await app.sql`update factors set factor_type = 'webauthn', secret = null where id = ${key.id}`
  const without = await user(t).act(['--json', ...login], { env: environ('123456') })
  t.match(errorOf(without), { codice: 'SECONDO_FATTORE_RICHIESTO', uscita: 3 })
  t.match(without.stderr, '--browser')
  const [code] = (await client.auth.mfa.recoveryCodes.generate()).data!.codes
  t.match(await user(t).act(login, { env: environ(code!.replace(/(.{4})(?=.)/g, '$1-')) }), { code: 0, stderr: '' })
  t.match(await app.sql`select second_factor from api_keys where user_id = ${id}`, [{ second_factor: true }])
  t.notOk((await app.sql`select id from sessions where factor_id is null`).length, 'no session is left half way')
})

t.test('a wrong code ends with 3, and so does a missing one where nobody can be asked', async (t) => {
  const { act } = user(t)
  const wrong = await act(['--json', ...LOGIN], { env: environ('abc') })
  t.match(errorOf(wrong), { codice: 'MFA_VERIFICATION_FAILED', uscita: 3 })
  t.match(await act(LOGIN, { env: { LOCANDA_URL: url, LOCANDA_PASSWORD: PASSWORD } }), {
    code: 3,
    stderr: /^Errore: [^\n]*LOCANDA_CODE[^\n]*\n$/
  })
  t.notOk((await app.sql`select id from sessions where factor_id is null`).length, 'no session is left half way')
})
