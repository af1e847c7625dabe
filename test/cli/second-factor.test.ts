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
