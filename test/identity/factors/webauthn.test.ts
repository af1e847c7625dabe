import t from 'tap'
import { CHROMIUM } from '#test/chromium.ts'
import { fr } from '#src/identity/sign-in/mail-texts/fr.ts'
import { build } from '#test/helper.ts'
import { startSmtp } from '#test/smtp.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { as, isLetIn } from '#test/identity/requests.ts'
import { openPage } from './browser.ts'
import { freePort } from '#test/free-port.ts'

const PASSWORD = 'una-frase-lunga-e-mia'
const skip = CHROMIUM ? false : 'no Chromium is installed'

t.test('in a browser, by the official client', { skip }, async (t) => {
  const port = await freePort()
  const url = `http://localhost:${port}`
  const smtp = await startSmtp(t)
  const { app, token } = await build(t, {
    PUBLIC_URL: url, RATE_LIMIT_LOGIN_MAX: '1000', SMTP_URL: smtp.url, MAIL_FROM: 'posta@locanda.example'
  })
  const told = async () => {
    const { envelope, subject, text } = await smtp.next()
    return [envelope.to.join(), subject, text.split(/\r?\n\r?\n/)[0]]
  }
  await app.listen({ host: '127.0.0.1', port })
  const service = await token({ service: true })
  const person = async (email: string, user_metadata = {}) => {
    const app_metadata = { role: 'operator' }
    const payload = { email, password: PASSWORD, email_confirm: true, app_metadata, user_metadata }
    return (await as(app, service, 'POST', '/auth/v1/admin/users', payload)).json<{ id: string }>().id
  }
  const { backendKey } = (await app.inject('/api/config')).json<{ backendKey: string }>()
  const { evaluate, knowPerson, changeDevices } = await openPage(t, `${url}/health/live`)
  await evaluate(`window.auth = supabase.createClient('${url}', '${backendKey}').auth; 0`)
  interface Result { data: Record<string, unknown> | null, error: { code?: string, name?: string } | null }
  /** A call of the client; an error as its code and name. */
  const call = (expression: string) => evaluate<Result>(`(async () => {
    const { data, error } = await ${expression}
    return { data, error: error && { code: error.code, name: error.name, message: error.message } }
  })()`)
  const signIn = (email: string) =>
    call(`auth.signInWithPassword({ email: '${email}', password: '${PASSWORD}' })`)
  const access = () => evaluate<string>("auth.getSession().then(({ data }) => data.session?.access_token ?? '')")
  const methods = async () => (claimsOf(await access()).amr as { method: string }[]).map(({ method }) => method)

  t.test('a person registers a passkey, names it, and signs in with it alone', async (t) => {
    const id = await person('anna@example.org', { lingua: 'fr' })
    t.equal((await signIn('anna@example.org')).error, null)
    const made = await call('auth.registerPasskey()')
    t.equal(made.error, null)
    const passkeyId = String(made.data!.id)
    t.same(await told(), ['anna@example.org', ...fr.notices.passkey_added.slice(0, 2)], 'the person is told by mail')
    const again = await call('auth.registerPasskey()')
    t.ok(again.error, 'the same device needs no second one')
    const renamed = await call(`auth.passkey.update({ passkeyId: '${passkeyId}', friendlyName: 'Portatile' })`)
    t.match(renamed, { data: { id: passkeyId, friendly_name: 'Portatile' }, error: null })
    t.match(await call('auth.passkey.list()'), { data: [{ id: passkeyId, friendly_name: 'Portatile' }], error: null })

    await call('auth.signOut()')
    const signedIn = await call('auth.signInWithPasskey()')
    t.match(signedIn, { data: { user: { id } }, error: null })
    t.same(await methods(), ['passkey'])
    t.equal(claimsOf(await access()).aal, 'aal1')
    t.equal(await isLetIn(app, { authorization: `Bearer ${await access()}` }), 200)
    t.match(await call('auth.passkey.list()'), { data: [{ last_used_at: String }] })
    t.match(await app.sql`select action from audit_log where object = ${`passkey:${passkeyId}`}`, [
      { action: 'passkey_registrata' }
    ])
  })

  t.test('a device that does not know its person signs nobody in, nor does an answer that came before', async (t) => {
    await knowPerson(false)
    t.ok((await call('auth.signInWithPasskey()')).error)
    await knowPerson(true)
    // The device's answer itself, to give it twice, and to another question.
    const { data } = await call(`(async () => {
      const { data } = await auth.passkey.startAuthentication()
      const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(data.options)
      const credential = (await navigator.credentials.get({ publicKey })).toJSON()
      return { data: { challengeId: data.challenge_id, credential }, error: null }
    })()`)
    const given = JSON.stringify(data)
    const verify = async (body: object) => {
      const answer = await app.inject({ method: 'POST', url: '/auth/v1/passkeys/authentication/verify', payload: body })
      return answer.json<{ error_code?: string }>().error_code
    }
    const { challengeId: challenge_id, credential } = JSON.parse(given) as
      { challengeId: string, credential: { response: Record<string, string> } }
    t.equal(await verify({ challenge_id, credential }), undefined)
    t.equal(await verify({ challenge_id, credential }), 'webauthn_challenge_not_found')
    const fresh = async () => (await app.inject({
      method: 'POST', url: '/auth/v1/passkeys/authentication/options', payload: {}
    })).json<{ challenge_id: string }>().challenge_id
    t.equal(await verify({ challenge_id: await fresh(), credential }), 'webauthn_verification_failed')
    const forged = { ...credential, response: { ...credential.response, signature: 'AAAA' } }
    t.equal(await verify({ challenge_id: await fresh(), credential: forged }), 'webauthn_verification_failed')
    const old = await fresh()
    await app.sql`update webauthn_challenges set created_at = now() - interval '6 minutes' where id = ${old}`
    t.equal(await verify({ challenge_id: old, credential }), 'webauthn_challenge_expired')
  })

  t.test('a banned person is signed in by no passkey, and a removed one signs nobody in', async (t) => {
    const [row] = await app.sql<{ id: string, user_id: string }[]>`select id, user_id from webauthn_credentials`
    await app.sql`update users set banned_until = now() + interval '1 day' where id = ${row!.user_id}`
    t.match((await call('auth.signInWithPasskey()')).error, { code: 'user_banned' })
    await app.sql`update users set banned_until = null where id = ${row!.user_id}`
    const listed = await as(app, service, 'GET', `/auth/v1/admin/users/${row!.user_id}/passkeys`)
    t.match(listed.json(), [{ id: row!.id, friendly_name: 'Portatile' }])
    const path = `/auth/v1/admin/users/${row!.user_id}/passkeys/${row!.id}`
    t.equal((await as(app, service, 'DELETE', path)).statusCode, 204)
    t.equal((await as(app, service, 'DELETE', path)).statusCode, 404)
    t.same(await told(), ['anna@example.org', ...fr.notices.passkey_removed.slice(0, 2)], 'once, by whomever')
    t.match((await call('auth.signInWithPasskey()')).error, { code: 'webauthn_verification_failed' })
  })

  t.test('a device is a second factor: without it nothing goes on, with it the session is at aal2', async (t) => {
    const email = 'piero@example.org'
    await person(email)
    await signIn(email)
    const registered = await call("auth.mfa.webauthn.register({ friendlyName: 'Chiave' })")
    t.equal(registered.error, null)
    t.same(await methods(), ['mfa/webauthn', 'password'])
    t.equal(claimsOf(await access()).aal, 'aal2')
    const { data } = await call('auth.mfa.listFactors()')
    t.match(data, { webauthn: [{ friendly_name: 'Chiave', status: 'verified' }] })
    const [{ id: factorId }] = data!.webauthn as [{ id: string }]

    await signIn(email)
    const half = { authorization: `Bearer ${await access()}` }
    t.equal(await isLetIn(app, half), 403)
    t.match((await call("auth.mfa.webauthn.register({ friendlyName: 'Altra' })")).error, { code: 'insufficient_aal' })
    t.match((await call('auth.registerPasskey()')).error, { code: 'insufficient_aal' })
    t.equal((await call(`auth.mfa.webauthn.authenticate({ factorId: '${factorId}' })`)).error, null)
    t.equal(await isLetIn(app, { authorization: `Bearer ${await access()}` }), 200)
    t.match((await call('auth.signInWithPasskey()')).error, { name: String }, 'the key of a factor is no passkey')
  })

  t.test('who knows the password alone cannot put a device of their own in place of what was begun', async (t) => {
    const email = 'rosa@example.org'
    await person(email)
    await signIn(email)
    await call("auth.mfa.webauthn.register({ friendlyName: 'Chiave' })")
    const begun = await call("auth.mfa.enroll({ factorType: 'webauthn', friendlyName: 'Seconda' })")
    t.match(begun, { data: { type: 'webauthn', friendly_name: 'Seconda' }, error: null })
    await signIn(email)
    await changeDevices()
    const factorId = String(begun.data!.id)
    const taken = await call(`(async () => {
      const { data } = await auth.mfa.webauthn.challenge({ factorId: '${factorId}', webauthn: { rpId: 'localhost' } })
      const { challengeId, webauthn } = data
      return await auth.mfa.webauthn.verify({ factorId: '${factorId}', challengeId, webauthn })
    })()`)
    t.match(taken.error, { code: 'insufficient_aal' })
    t.same(await app.sql`select id from webauthn_credentials where factor_id = ${factorId}`, [])
  })
})

t.test('what is no answer of a device is refused plainly', async (t) => {
  const { app, token } = await build(t, { PUBLIC_URL: 'https://locanda.example' })
  const somebody = await token()
  const post = async (path: string, payload: object) => {
    const answer = await as(app, somebody, 'POST', `/auth/v1${path}`, payload)
    return answer.json<{ error_code?: string } & Record<string, string>>()
  }
  const { challenge_id } = await post('/passkeys/registration/options', {})
  const response = { clientDataJSON: 'e30', attestationObject: 7 }
  const credential = { id: 'x', rawId: 'x', type: 'public-key', response }
  t.match(await post('/passkeys/registration/verify', { challenge_id, credential }), {
    error_code: 'webauthn_verification_failed'
  })
  t.match(await post('/passkeys/registration/verify', { challenge_id, credential }), {
    error_code: 'webauthn_challenge_not_found'
  })
  t.match(await post('/passkeys/registration/verify', { challenge_id }), { error_code: 'validation_failed' })
  const { id } = await post('/factors', { factor_type: 'webauthn' })
  const challenge = await post(`/factors/${id}/challenge`, {})
  const verify = (more: object) => post(`/factors/${id}/verify`, { challenge_id: challenge.id, ...more })
  t.match(await verify({}), { error_code: 'validation_failed' })
  t.match(await verify({ code: '123456' }), { error_code: 'validation_failed' })
  t.match(await verify({ webauthn: { type: 'request', credential_response: credential } }), {
    error_code: 'validation_failed'
  })
  t.match(await verify({ webauthn: { type: 'create', credential_response: credential } }), {
    error_code: 'mfa_verification_failed'
  })
})

t.test('at an IP address nothing is offered that a browser could not do', async (t) => {
  const { app, token } = await build(t, { PUBLIC_URL: 'http://127.0.0.1:3000' })
  const somebody = await token()
  const post = async (path: string, payload: object) =>
    (await as(app, somebody, 'POST', `/auth/v1${path}`, payload)).json<{ error_code: string }>().error_code
  t.equal(await post('/passkeys/authentication/options', {}), 'passkey_disabled')
  t.equal(await post('/passkeys/registration/options', {}), 'passkey_disabled')
  for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
    const url = `/auth/v1/passkeys${method === 'GET' ? '' : '/00000000-0000-4000-8000-000000000000'}`
    const answer = await as(app, somebody, method, url, method === 'PATCH' ? { friendly_name: 'x' } : undefined)
    t.match([answer.statusCode, answer.json()], [404, { error_code: 'passkey_disabled' }], method)
  }
  t.equal(await post('/factors', { factor_type: 'webauthn' }), 'mfa_webauthn_enroll_not_enabled')
  t.match((await app.inject('/auth/v1/settings')).json(), { passkeys_enabled: false })
})
