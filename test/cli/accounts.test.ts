import { randomBytes } from 'node:crypto'
import t from 'tap'
import { codeOf, enrolApp, forgetCodes, personWithApp } from '#test/identity/factors/authenticator.ts'
import { openClient, PASSWORD, provider } from '#test/identity/protocol/client.ts'
import { errorOf, user } from './process.ts'

const server = await provider(t)
const { app, url, dataDir, logs } = server
const { client, person: { email }, app: phone } = await personWithApp(server)
const codes = (await client.auth.mfa.recoveryCodes.generate()).data!.codes
const LOGIN = ['login', '--email', email]
const environ = (code: string) => ({ LOCANDA_URL: url, LOCANDA_PASSWORD: PASSWORD, LOCANDA_CODE: code })

const EMAIL = 'nuova@example.org'
const NEW_PASSWORD = 'CANARY-una-frase-nuova'

const env = { DATA_DIR: dataDir, PUBLIC_URL: url, PORT: new URL(url).port }

const signIn = async (email: string, password: string) => {
  const { backendUrl, backendKey } = await (await fetch(`${url}/api/config`)).json() as Record<string, string>
  const client = openClient(t, { backendUrl: backendUrl!, backendKey: backendKey! })
  return { client, ...await client.auth.signInWithPassword({ email, password }) }
}

t.test('a login with a second factor stores a working key, and ends the session', async (t) => {
  await forgetCodes(app)
  const { act } = user(t)
  t.match(await act(LOGIN, { env: environ(codeOf(phone.secret)) }), { code: 0, stderr: '' })
  t.equal((await act(['prenotazioni', 'list'])).code, 0)
  t.equal((await app.sql`select id from sessions`).length, 1, "only the client's own session remains")
  t.match(await app.sql`select second_factor from api_keys`, [{ second_factor: true }])
})

t.test('a recovery code replaces a code of the app, once', async (t) => {
  const { act } = user(t)
  t.match(await act(LOGIN, { env: environ(codes[0]!.toUpperCase()) }), { code: 0, stderr: '' })
  t.match(errorOf(await act(['--json', ...LOGIN], { env: environ(codes[0]!) })), { codice: 'MFA_VERIFICATION_FAILED' })
})

t.test('a code of the app may contain blanks and dashes', async (t) => {
  for (const between of ['-', ' ', ' – ']) {
    await forgetCodes(app)
    const code = codeOf(phone.secret)
    const typed = `${code.slice(0, 3)}${between}${code.slice(3)}`
    t.match(await user(t).act(LOGIN, { env: environ(typed) }), { code: 0, stderr: '' }, typed)
  }
})

t.test('a person with only a security key signs in with a recovery code, or is told to enter a key', async (t) => {
  const { client, person: { id, email }, app: key } = await personWithApp(server)
  const login = ['login', '--email', email]
  // WebAuthn needs a domain, but this server has an IP address.
  await app.sql`update factors set factor_type = 'webauthn', secret = null where id = ${key.id}`
  const without = await user(t).act(['--json', ...login], { env: environ('123456') })
  t.match(errorOf(without), { codice: 'SECONDO_FATTORE_RICHIESTO', uscita: 3 })
  t.match(without.stderr, '--chiave')
  const [code] = (await client.auth.mfa.recoveryCodes.generate()).data!.codes
  t.match(await user(t).act(login, { env: environ(code!.replace(/(.{4})(?=.)/g, '$1-')) }), { code: 0, stderr: '' })
  t.match(await app.sql`select second_factor from api_keys where user_id = ${id}`, [{ second_factor: true }])
  t.notOk((await app.sql`select id from sessions where factor_id is null`).length, 'no incomplete session remains')
})

t.test('after a wrong code, or without code and terminal, the tool exits with 3', async (t) => {
  const { act } = user(t)
  const wrong = await act(['--json', ...LOGIN], { env: environ('abc') })
  t.match(errorOf(wrong), { codice: 'MFA_VERIFICATION_FAILED', uscita: 3 })
  t.match(await act(LOGIN, { env: { LOCANDA_URL: url, LOCANDA_PASSWORD: PASSWORD } }), {
    code: 3,
    stderr: /^Errore: [^\n]*LOCANDA_CODE[^\n]*\n$/
  })
  t.notOk((await app.sql`select id from sessions where factor_id is null`).length, 'no incomplete session remains')
})

t.test('on the server the tool creates an administrator, who can sign in at once, with an audit entry', async (t) => {
  const made = await user(t).run(['admin', 'create', '--email', EMAIL], { env, input: `${NEW_PASSWORD}\n` })
  t.same(made, { code: 0, stdout: `Amministratore ${EMAIL} creato.\n`, stderr: '' })
  const { data } = await signIn(EMAIL, NEW_PASSWORD)
  t.match(data.user?.app_metadata, { role: 'admin' })
  t.match(await app.sql`select actor, details from audit_log where action = 'utente_creato' order by id desc limit 1`, [
    { actor: 'service', details: { role: 'admin' } }
  ])
  t.notMatch(JSON.stringify(logs), NEW_PASSWORD)
})

t.test('a new password ends the person\'s sessions, and an option removes the second factors', async (t) => {
  const person = await server.person({ app_metadata: { role: 'admin' } })
  const before = await server.signedIn(person)
  await enrolApp(before, 'Telefono')
  await app.sql`
    insert into webauthn_credentials (user_id, credential_id, public_key, counter, transports, friendly_name)
    values (${person.id}, 'x', '', 0, '{}', 'Portatile')`
  await before.auth.mfa.recoveryCodes.generate()
  const { act } = user(t)
  const RESET = ['admin', 'reset-password', '--email', ` ${person.email.toUpperCase()}`]
  const reset = await act(RESET, { env: { ...env, LOCANDA_PASSWORD: NEW_PASSWORD } })
  t.match(reset, { code: 0, stdout: /^Password di [^\n]+ cambiata: [^\n]+\n$/, stderr: '' })
  t.match(reset.stdout, 'restano, se ci sono (li toglie --rimuovi-secondo-fattore)')
  t.match((await before.auth.getUser()).error, { name: 'AuthSessionMissingError' })
  t.match((await signIn(person.email, PASSWORD)).error, { code: 'invalid_credentials' })
  const after = await signIn(person.email, NEW_PASSWORD)
  t.equal(after.data.user?.factors?.length, 2, 'the second factor remains')

  const all = await act(['--json', ...RESET, '--genera', '--rimuovi-secondo-fattore'], { env })
  t.equal(all.code, 0, all.stderr)
  const { password, ...printed } = JSON.parse(all.stdout) as { password: string }
  t.strictSame(printed, { id: person.id, email: person.email, rimossi: true })
  t.same(await app.sql`select id from webauthn_credentials`, [], 'a passkey does not open the account')
  t.equal((await signIn(person.email, password)).data.user?.factors, undefined)
})

t.test('a refused password removes no second factor', async (t) => {
  const person = await server.person()
  await enrolApp(await server.signedIn(person))
  const weak = await user(t).act(
    ['--json', 'admin', 'reset-password', '--email', person.email, '--rimuovi-secondo-fattore'],
    { env: { ...env, LOCANDA_PASSWORD: 'corta' } }
  )
  t.match(errorOf(weak), { codice: 'WEAK_PASSWORD' })
  t.equal((await app.sql`select id from factors where user_id = ${person.id}`).length, 1)
})

t.test('a wrong command is refused in one Italian line, and has no effect', async (t) => {
  const { act } = user(t)
  const cases: [args: string[], environ: Record<string, string>, codice: string, says: RegExp][] = [
    [['create', '--email', EMAIL, '--genera'], {}, 'EMAIL_EXISTS', /reset-password/],
    [['create', '--email', 'nessuna', '--genera'], {}, 'VALIDATION_FAILED', /--email/],
    [['create', '--email', 'debole@example.org'], { LOCANDA_PASSWORD: 'corta' }, 'WEAK_PASSWORD', /caratteri/],
    [['create', '--email', 'debole@example.org'], {}, 'USO_NON_VALIDO', /password/],
    [['reset-password', '--email', 'nessuno@example.org', '--genera'], {}, 'UTENTE_NON_TROVATO', /nessuno/],
    [['create', '--email', 'a@example.org', '--genera'], {
      MASTER_KEY: randomBytes(32).toString('base64')
    }, 'AMBIENTE_DIVERSO', /MASTER_KEY/],
    [['reset-password', '--email', EMAIL, '--genera'], {
      IDP_URL: 'https://idp.example', IDP_ANON_KEY: 'anonima'
    }, 'PROVIDER_ESTERNO', /IDP_URL/],
    [['create', '--email', 'a@example.org', '--genera'], { PORT: '1' }, 'SERVER_NON_RAGGIUNGIBILE', /127\.0\.0\.1:1\b/]
  ]
  const people = async () => (await app.sql`select email, password_hash from users order by id`)
  const before = await people()
  for (const [args, environ, codice, says] of cases) {
    const ended = await act(['--json', 'admin', ...args], { env: { ...env, ...environ } })
    t.match(errorOf(ended), { codice, messaggio: says }, args.join(' '))
    t.equal(ended.stdout, '')
  }
  t.same(await people(), before)
})
