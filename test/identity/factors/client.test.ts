import { readFileSync } from 'node:fs'
import { runInThisContext } from 'node:vm'
import { createClient } from '@supabase/supabase-js'
import t from 'tap'
import type { AuthSession } from '#schemas/auth/session.ts'
import { build } from '#test/helper.ts'
import { appWithLocks } from '#test/identity/attacks/lock-waits.ts'
import { type Client, PASSWORD, provider, tokensOf } from '#test/identity/protocol/client.ts'
import { callAs, bearer, isLetIn } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { startSmtp } from '#test/smtp.ts'
import { codeOf, enrolApp, forgetCodes, personWithApp, prove } from './authenticator.ts'

const smtp = await startSmtp(t)
const server = await provider(t, { LOG_LEVEL: 'trace', SMTP_URL: smtp.url, MAIL_FROM: 'posta@locanda.example' })
const { app, signedIn, open, person } = server

const letIn = async (client: Client) => await isLetIn(app, bearer((await tokensOf(client)).access))

t.test('a password-only session signs out only password-only sessions', async (t) => {
  const { client, person } = await personWithApp(server)
  await smtp.next()
  for (const scope of ['others', 'global', 'local'] as const) {
    const [half, other] = [await signedIn(person), await signedIn(person)]
    t.equal((await half.auth.signOut({ scope })).error, null)
    t.equal(await letIn(client), 200, `${scope}: the owner continues`)
    const { error } = await other.auth.getUser()
    t.equal(error?.name, scope === 'local' ? undefined : 'AuthSessionMissingError')
  }
  const [whole, half] = [client, await signedIn(person)]
  t.equal((await whole.auth.signOut({ scope: 'others' })).error, null)
  t.match((await half.auth.getUser()).error, { name: 'AuthSessionMissingError' }, 'the owner ends all other sessions')
})

t.test('a person is notified by mail of every added or removed factor, and of new codes', async (t) => {
  const before = smtp.mails.length
  const { client, person: { id: userId, email }, app: { id } } = await personWithApp(server)
  await client.auth.mfa.recoveryCodes.generate()
  await client.auth.mfa.recoveryCodes.regenerate()
  await client.auth.mfa.recoveryCodes.unenroll()
  await client.auth.mfa.unenroll({ factorId: id })
  const again = await enrolApp(client)
  const { auth: { admin } } = open({ key: await server.token({ service: true }) })
  await admin.mfa.deleteFactor({ userId, id: again.id })
  const subjects = []
  for (let n = 0; n < 7; n++) {
    const mail = await smtp.next()
    t.same(mail.envelope.to, [email])
    subjects.push(mail.subject)
  }
  t.same(subjects.sort(), [
    'Nuovi codici di recupero', 'Nuovi codici di recupero', 'Nuovo secondo fattore', 'Nuovo secondo fattore',
    'Secondo fattore rimosso', 'Secondo fattore rimosso', 'Secondo fattore rimosso'
  ])
  t.equal(smtp.mails.length - before, 7)
})

t.test('a passkey can be added only within a day of the sign-in', async (t) => {
  const { app, token } = await build(t, { PUBLIC_URL: 'https://locanda.example' })
  const somebody = await token()
  const begin = async () => {
    const response = await callAs(app, somebody, 'POST', '/auth/v1/passkeys/registration/options', {})
    return response.json<{ error_code?: string }>().error_code
  }
  t.equal(await begin(), undefined)
  await app.sql`update sessions set created_at = created_at - interval '2 days', amr = '[]'`
  t.equal(await begin(), 'reauthentication_needed')
})

t.test('a guarded request is refused when a second factor is enrolled while it runs', async (t) => {
  const { app, person, signIn, sql, meanwhile } = await appWithLocks(t, { PUBLIC_URL: 'https://locanda.example' })
  const id = await person('anna@example.org')
  const access = (await signIn('anna@example.org')).json<{ access_token: string }>().access_token
  const passkey = '00000000-0000-4000-8000-000000000000'
  const requests = [
    ['PUT', '/auth/v1/user', { password: 'un-altra-frase-lunga' }],
    ['PUT', '/auth/v1/user', { data: { name: 'Anna' } }],
    ['GET', '/api/cli/auth/key', undefined],
    ['POST', '/api/sessions/revoke-all', {}],
    ['POST', '/auth/v1/passkeys/registration/options', {}],
    ['DELETE', `/auth/v1/passkeys/${passkey}`, undefined],
    ['DELETE', `/auth/v1/user/identities/${passkey}`, undefined]
  ] as const
  for (const [method, url, payload] of requests) {
    await sql`delete from factors`
    await app.identity.waitForListeners()
    const response = await meanwhile(
      async (tx) => {
        await tx`select id from users where id = ${id} for update`
        await tx`insert into factors (user_id, factor_type, status) values (${id}, 'totp', 'verified')`
      },
      () => callAs(app, access, method, url, payload)
    )
    const { error_code: code, codice } = response.json<{ error_code?: string, codice?: string }>()
    t.match(code ?? codice, /^(insufficient_aal|SECONDO_FATTORE_RICHIESTO)$/, `${method} ${url}`)
  }
  t.equal((await sql`select id from sessions`).length, 1)
  t.same(await sql`select id from api_keys`, [])
})

/* The calls of the official client. */

const levels = async ({ auth }: Client) => {
  const { data } = await auth.mfa.getAuthenticatorAssuranceLevel()
  return [data?.currentLevel, data?.nextLevel]
}
const methods = async (client: Client) =>
  (claimsOf((await tokensOf(client)).access).amr as { method: string }[]).map(({ method }) => method)
const auditOf = async (object: string) =>
  (await app.sql<{ action: string }[]>`select action from audit_log where object = ${object} order by id`)
    .map(({ action }) => action)

t.test('a person who enrols an app and verifies a code is at aal2, and the person\'s other sessions end', async (t) => {
  const somebody = await person()
  const [client, elsewhere] = [await signedIn(somebody), await signedIn(somebody)]
  t.same(await levels(client), ['aal1', 'aal1'])
  const before = await tokensOf(client)

  const { data } = await client.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'Telefono', issuer: 'Locanda' })
  t.match(data, {
    type: 'totp',
    friendly_name: 'Telefono',
    totp: {
      qr_code: /^data:image\/svg\+xml;utf-8,<svg [^#]*<\/svg>$/,
      secret: /^[A-Z2-7]{32}$/,
      uri: /^otpauth:\/\/totp\/Locanda:/
    }
  })
  const { id, totp: { secret } } = data!
  t.match((await client.auth.mfa.listFactors()).data, { all: [{ id, status: 'unverified' }], totp: [] })
  t.same(await levels(client), ['aal1', 'aal1'], 'an unproven factor does not count')

  const challenge = await client.auth.mfa.challenge({ factorId: id })
  t.match(challenge.data, { type: 'totp', expires_at: Number })
  const proven = await client.auth.mfa.verify({ factorId: id, challengeId: challenge.data!.id, code: codeOf(secret) })
  t.equal(proven.error, null)
  t.match(proven.data, { user: { factors: [{ id, factor_type: 'totp', status: 'verified' }] } })
  t.ok(client.events.includes('MFA_CHALLENGE_VERIFIED'))
  t.same(await levels(client), ['aal2', 'aal2'])
  t.same(await methods(client), ['totp', 'password'])
  t.match((await client.auth.mfa.listFactors()).data, { totp: [{ id, friendly_name: 'Telefono' }] })

  t.match((await elsewhere.auth.getUser()).error, { name: 'AuthSessionMissingError' })
  t.equal(await isLetIn(app, { authorization: `Bearer ${(await tokensOf(client)).access}` }), 200)
  const copied = { authorization: `Bearer ${before.access}` }
  t.equal(await isLetIn(app, copied), 401, 'the earlier token is void')
  t.same(await auditOf(`factor:${id}`), ['fattore_registrato', 'fattore_confermato'])
})

t.test('level and methods survive refreshes, and the refresh token from before the proof is void', async (t) => {
  const { client, person: somebody, app: phone } = await personWithApp(server)
  t.equal((await client.auth.refreshSession()).error, null)
  t.same(await levels(client), ['aal2', 'aal2'])
  t.same(await methods(client), ['totp', 'password'])

  const again = await signedIn(somebody)
  t.same(await levels(again), ['aal1', 'aal2'])
  t.same(await methods(again), ['password'])
  await again.auth.refreshSession()
  t.same(await levels(again), ['aal1', 'aal2'], 'a refresh is no proof')
  const stolen = await tokensOf(again)
  await prove(server, again, phone)
  t.same(await levels(again), ['aal2', 'aal2'])
  t.match((await open().auth.refreshSession({ refresh_token: stolen.refresh })).error,
    { code: 'refresh_token_not_found' })
  t.equal((await again.auth.refreshSession()).error, null, 'the proven session continues')
})

t.test('codes and challenges are single-use, and wrong ones are refused and audited', async (t) => {
  const { client: { auth }, app: { id, secret, code: used } } = await personWithApp(server)
  t.match((await auth.mfa.challengeAndVerify({ factorId: id, code: used })).error,
    { code: 'mfa_verification_failed', status: 422 })
  await forgetCodes(app)
  const { data } = await auth.mfa.challenge({ factorId: id })
  const challengeId = data!.id
  t.match((await auth.mfa.verify({ factorId: id, challengeId, code: '' })).error, { code: 'validation_failed' })
  for (const code of ['abcdef', '12345', '𐀀𐀀𐀀']) {
    t.match((await auth.mfa.verify({ factorId: id, challengeId, code })).error, { code: 'mfa_verification_failed' })
  }
  t.equal((await auth.mfa.verify({ factorId: id, challengeId, code: codeOf(secret) })).error, null)
  await forgetCodes(app)
  t.match((await auth.mfa.verify({ factorId: id, challengeId, code: codeOf(secret) })).error,
    { code: 'mfa_factor_not_found' })
  t.equal((await auditOf(`factor:${id}`)).filter((action) => action === 'accesso_fallito').length, 4)
})

t.test('a challenge is valid for five minutes, on its client\'s network, and for its own factor', async (t) => {
  const { client, app: { id, secret } } = await personWithApp(server)
  const { auth } = client
  await forgetCodes(app)
  const challenge = async () => (await auth.mfa.challenge({ factorId: id })).data!.id
  const old = await challenge()
  await app.sql`update factor_challenges set created_at = now() - interval '6 minutes' where id = ${old}`
  t.match((await auth.mfa.verify({ factorId: id, challengeId: old, code: codeOf(secret) })).error,
    { code: 'mfa_challenge_expired' })
  const moved = await challenge()
  await app.sql`update factor_challenges set network = '192.0.2.7' where id = ${moved}`
  t.match((await auth.mfa.verify({ factorId: id, challengeId: moved, code: codeOf(secret) })).error,
    { code: 'mfa_ip_address_mismatch' })
  const other = await personWithApp(server)
  const foreign = (await other.client.auth.mfa.challenge({ factorId: other.app.id })).data!.id
  for (const challengeId of [foreign, 'no-uuid', '00000000-0000-4000-8000-000000000000']) {
    t.match((await auth.mfa.verify({ factorId: id, challengeId, code: codeOf(secret) })).error,
      { code: 'mfa_factor_not_found' })
  }
})

t.test('a factor of another person is reported as missing, in a challenge, proof, renaming or removal', async (t) => {
  const [mine, theirs] = [await personWithApp(server), await personWithApp(server)]
  const { auth } = mine.client
  const factorId = theirs.app.id
  t.match((await auth.mfa.challenge({ factorId })).error, { code: 'mfa_factor_not_found', status: 404 })
  t.match((await auth.mfa.verify({ factorId, challengeId: factorId, code: '123456' })).error,
    { code: 'mfa_factor_not_found' })
  t.match((await auth.mfa.unenroll({ factorId })).error, { code: 'mfa_factor_not_found' })
  const { access } = await tokensOf(mine.client)
  const renamed = await callAs(app, access, 'PATCH', `/auth/v1/factors/${factorId}`, { friendly_name: 'mio' })
  t.match(renamed.json(), { error_code: 'mfa_factor_not_found' })
  t.match((await auth.mfa.unenroll({ factorId: 'x' })).error, { code: 'validation_failed', status: 404 })
})

t.test('a duplicate name, too many factors, and unsupported kinds are refused', async (t) => {
  const client = await signedIn(await person())
  const { auth } = client
  const enroll = async (friendlyName?: string) => (await auth.mfa.enroll({ factorType: 'totp', friendlyName })).error
  t.equal(await enroll('Telefono'), null)
  t.match(await enroll('Telefono'), { code: 'mfa_factor_name_conflict', status: 422 })
  for (let n = 0; n < 9; n++) t.equal(await enroll(), null, 'factors without a name do not conflict')
  t.match(await enroll(), { code: 'too_many_enrolled_mfa_factors', status: 422 })
  await app.sql`update factors set created_at = now() - interval '1 hour'`
  t.equal(await enroll('Telefono'), null, 'the next enrolment deletes an unfinished one')

  t.match((await auth.mfa.enroll({ factorType: 'phone', phone: '+390000000' })).error,
    { code: 'mfa_phone_enroll_not_enabled' })
  t.match((await auth.mfa.enroll({ factorType: 'webauthn', friendlyName: 'Chiave' })).error,
    { code: 'mfa_webauthn_enroll_not_enabled' })
  // @ts-expect-error: no such kind
  t.match((await auth.mfa.enroll({ factorType: 'pigeon' })).error, { code: 'validation_failed' })
})

t.test('ten recovery codes replace a lost app, each once, in any spelling', async (t) => {
  const { client, person: somebody, app: phone } = await personWithApp(server)
  const { recoveryCodes } = client.auth.mfa
  t.match((await recoveryCodes.getStatus()).error, { code: 'mfa_factor_not_found' })
  const { data } = await recoveryCodes.generate()
  t.match(data, { type: 'recovery_code', friendly_name: 'Recovery codes', total: 10 })
  const codes = data!.codes
  t.equal(new Set(codes).size, 10)
  t.ok(codes.every((code) => /^[a-z0-9]{16}$/.test(code)))
  t.match((await recoveryCodes.generate()).error, { code: 'mfa_verified_factor_exists' })
  const kept = JSON.stringify(await app.sql`select * from recovery_codes`)
  t.notOk(codes.some((code) => kept.includes(code)))

  const lost = await signedIn(somebody)
  t.match((await lost.auth.mfa.recoveryCodes.getStatus()).data, { total: 10, remaining: 10 })
  t.match((await lost.auth.mfa.recoveryCodes.generate()).error, { code: 'insufficient_aal' })
  t.match((await lost.auth.mfa.recoveryCodes.verify({ code: 'k4m9x7qp2ab8ht3z' })).error,
    { code: 'mfa_verification_failed' })
  const written = codes[0]!.toUpperCase().replace(/(.{4})(?=.)/g, '$1-')
  t.equal((await lost.auth.mfa.recoveryCodes.verify({ code: ` ${written} ` })).error, null)
  t.same(await levels(lost), ['aal2', 'aal2'])
  t.same(await methods(lost), ['mfa/recovery_code', 'password'])
  t.match((await lost.auth.mfa.recoveryCodes.getStatus()).data, { total: 10, remaining: 9 })
  t.match((await lost.auth.mfa.recoveryCodes.verify({ code: codes[0]! })).error, { code: 'mfa_verification_failed' })

  t.match((await lost.auth.mfa.unenroll({ factorId: phone.id })).error, { code: 'mfa_recovery_codes_sole_factor' })
  await enrolApp(lost, 'Telefono nuovo')
  t.equal((await lost.auth.mfa.unenroll({ factorId: phone.id })).error, null)
  t.match((await lost.auth.mfa.unenroll({ factorId: data!.id })).error, { code: 'validation_failed' })

  const renewed = await lost.auth.mfa.recoveryCodes.regenerate()
  t.match(renewed.data, { id: data!.id, total: 10 })
  t.match((await lost.auth.mfa.recoveryCodes.verify({ code: codes[1]! })).error, { code: 'mfa_verification_failed' })
  t.match((await lost.auth.mfa.recoveryCodes.unenroll()).data, { id: data!.id })
  t.same(await levels(lost), ['aal2', 'aal2'], 'the session has the new phone as its factor')
  t.match((await lost.auth.mfa.recoveryCodes.regenerate()).error, { code: 'mfa_factor_not_found' })
})

t.test('an administrator lists and removes factors, and removes recovery codes with the last one', async (t) => {
  const { client, person: { id: userId, email }, app: phone } = await personWithApp(server)
  const codes = (await client.auth.mfa.recoveryCodes.generate()).data!
  const { auth: { admin } } = open({ key: await server.token({ service: true }) })
  t.match((await admin.mfa.listFactors({ userId })).data,
    { factors: [{ id: phone.id, factor_type: 'totp', status: 'verified' }, { factor_type: 'recovery_code' }] })
  t.match((await admin.listUsers()).data.users.find(({ id }) => id === userId)?.factors, [{ id: phone.id }, {}])
  t.equal((await admin.mfa.deleteFactor({ userId, id: phone.id })).error, null)
  t.match((await admin.mfa.listFactors({ userId })).data, { factors: [] })
  t.match((await admin.mfa.deleteFactor({ userId, id: phone.id })).error, { code: 'mfa_factor_not_found' })
  for (const { id } of [phone, codes]) t.equal((await auditOf(`factor:${id}`)).at(-1), 'fattore_rimosso')

  const back = open()
  t.equal((await back.auth.signInWithPassword({ email, password: PASSWORD })).error, null)
  t.same(await levels(back), ['aal1', 'aal1'])
  t.equal(await isLetIn(app, { authorization: `Bearer ${(await tokensOf(back)).access}` }), 200)
  t.match((await back.auth.admin.mfa.listFactors({ userId })).error, { code: 'not_admin' })
})

t.test('no secret is readable in the factors, and no secret or code in the audit log or the trace log', async (t) => {
  const { client, app: { secret }, person: { email } } = await personWithApp(server)
  const codes = (await client.auth.mfa.recoveryCodes.generate()).data!.codes
  await client.auth.mfa.recoveryCodes.verify({ code: codes[0]! })
  const { Secret } = await import('otpauth')
  const rows = await app.sql<{ secret: Buffer }[]>`select secret from factors where secret is not null`
  t.ok(rows.length > 0)
  t.notOk(rows.some((row) => row.secret.includes(Buffer.from(Secret.fromBase32(secret).bytes))))
  const written = JSON.stringify([server.logs, await app.sql`select * from audit_log`])
  for (const each of [secret, ...codes, email]) t.notMatch(written, each)
})

t.test('the five lines of the README sign in with a second factor', async (t) => {
  const { person: somebody, app: phone } = await personWithApp(server)
  await forgetCodes(app)
  const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')
  const lines = /in five lines of `@supabase\/supabase-js`:\n```js\n(.*?)```/s.exec(readme)![1]!
  t.equal(lines.trim().split('\n').length, 5)
  const given = {
    server: server.url, email: somebody.email, password: PASSWORD, code: codeOf(phone.secret), createClient
  }
  const program = `(async ({ ${Object.keys(given).join()} }) => {\n${lines}\nreturn { auth, data }\n})`
  type Run = (values: typeof given) => Promise<{ auth: Client['auth'], data: AuthSession }>
  const run = runInThisContext(program) as Run
  const { auth, data } = await run(given)
  t.equal(claimsOf(data.access_token).aal, 'aal2')
  t.equal(await isLetIn(app, { authorization: `Bearer ${data.access_token}` }), 200)
  await auth.stopAutoRefresh()
})
