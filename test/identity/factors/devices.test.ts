import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import { Secret } from 'otpauth'
import t from 'tap'
import { readConfig } from '#src/config/config.ts'
import { enrolmentOf, matchStep, newSecret } from '#src/identity/factors/totp.ts'
import { relyingParty } from '#src/identity/factors/webauthn/relying-party.ts'
import { fr } from '#src/identity/sign-in/mail-texts/mail-fr.ts'
import { anyCharacter } from '#test/any-character.ts'
import { CHROMIUM } from '#test/chromium.ts'
import { freePort } from '#test/free-port.ts'
import { build, signIn } from '#test/helper.ts'
import { createPerson, PASSWORD } from '#test/identity/shared-password.ts'
import { callAs, bearer, isLetIn } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { startSmtp } from '#test/smtp.ts'
import { codeOf, forgetCodes } from './authenticator.ts'
import { openPage } from './webauthn-page.ts'
import { device, type Device } from './device.ts'

const PUBLIC_URL = 'https://locanda.example'

const { app, token } = await build(t, { PUBLIC_URL })
const service = await token({ service: true })

interface ApiResponse { id: string, challenge_id: string, options: { challenge: string }, error_code?: string }

async function post (app: FastifyInstance, token: string, path: string, payload: object) {
  const answer = await callAs(app, token, 'POST', `/auth/v1${path}`, payload)
  return { status: answer.statusCode, body: answer.json<ApiResponse>() }
}

/** Registers a passkey with a device. */
async function register (app: FastifyInstance, token: string, { create }: Device) {
  const { body: { challenge_id, options } } = await post(app, token, '/passkeys/registration/options', {})
  const credential = create(options.challenge)
  return await post(app, token, '/passkeys/registration/verify', { challenge_id, credential })
}

/** Enrols a device as a second factor. */
async function enrol (app: FastifyInstance, token: string, { create }: Device) {
  const { body: { id } } = await post(app, token, '/factors', { factor_type: 'webauthn' })
  const { body } = await post(app, token, `/factors/${id}/challenge`, {})
  const { webauthn } = body as unknown as { webauthn: { credential_options: { publicKey: { challenge: string } } } }
  const credential_response = create(webauthn.credential_options.publicKey.challenge)
  const proof = { challenge_id: body.id, webauthn: { type: 'create', credential_response } }
  return await post(app, token, `/factors/${id}/verify`, proof)
}

t.test('a credential id over 1,023 bytes is refused with a clear error', async (t) => {
  for (const add of [register, enrol]) {
    const somebody = await token({ name: add.name })
    for (const length of [1024, 3000, 65_000]) {
      const { status, body } = await add(app, somebody, device(PUBLIC_URL, { credentialId: randomBytes(length) }))
      t.same([status, body.error_code], [400, 'validation_failed'], `${add.name}: ${length}`)
    }
    const { status } = await add(app, somebody, device(PUBLIC_URL, { credentialId: randomBytes(1023) }))
    t.equal(status, 200, add.name)
  }
})

t.test('removing a passkey ends the sessions that passkeys began, and no others', async (t) => {
  const anna = await token({ name: 'anna' })
  const { sub: userId } = claimsOf(anna)
  const key = device(PUBLIC_URL)
  const signIn = async () => {
    const { body: { challenge_id, options } } = await post(app, anna, '/passkeys/authentication/options', {})
    const credential = key.prove(options.challenge)
    const { body } = await post(app, anna, '/passkeys/authentication/verify', { challenge_id, credential })
    return (body as unknown as { access_token: string }).access_token
  }
  const sessionStatus = async (...tokens: string[]) => await Promise.all(tokens.map((each) => isLetIn(app,
    bearer(each))))
  const { body: { id } } = await register(app, anna, key)
  const [own, stolen] = [await signIn(), await signIn()]
  t.same(await sessionStatus(anna, own, stolen), [200, 200, 200])
  t.equal((await callAs(app, own, 'DELETE', `/auth/v1/passkeys/${id}`)).statusCode, 204)
  t.same(await sessionStatus(anna, own, stolen), [200, 200, 401], 'the calling session continues')
  const audited = () => app.sql`
    select details from audit_log where action = 'passkey_eliminata' order by id desc limit 1`
  t.match(await audited(), [{ details: { revoked: 1 } }])

  const { body: { id: second } } = await register(app, anna, key)
  const another = await signIn()
  const url = `/auth/v1/admin/users/${userId}/passkeys/${second}`
  t.equal((await callAs(app, service, 'DELETE', url)).statusCode, 204)
  t.same(await sessionStatus(anna, own, another), [200, 401, 401], 'an administrator ends all passkey sessions')
  t.match(await audited(), [{ details: { user: userId, revoked: 2 } }])
})

t.test('a passkey that names another user than its owner is refused', async (t) => {
  const bice = await token({ name: 'bice' })
  const { sub: userId } = claimsOf(bice)
  const key = device(PUBLIC_URL)
  await register(app, bice, key)
  const signIn = async (userHandle: unknown) => {
    const { body: { challenge_id, options } } = await post(app, bice, '/passkeys/authentication/options', {})
    const proof = key.prove(options.challenge)
    const credential = { ...proof, response: { ...proof.response, userHandle } }
    return (await post(app, bice, '/passkeys/authentication/verify', { challenge_id, credential })).status
  }
  const handle = (text: string) => Buffer.from(text).toString('base64url')
  t.equal(await signIn(handle(randomUUID())), 400)
  t.equal(await signIn(7), 400)
  t.equal(await signIn(handle(userId)), 200)
  t.equal(await signIn(null), 200)
})

const skip = CHROMIUM ? false : 'no Chromium is installed'

t.test('in a browser, with the official client', { skip }, async (t) => {
  const port = await freePort()
  const url = `http://localhost:${port}`
  const smtp = await startSmtp(t)
  const server = await build(t, {
    PUBLIC_URL: url, RATE_LIMIT_LOGIN_MAX: '1000', SMTP_URL: smtp.url, MAIL_FROM: 'posta@locanda.example'
  })
  const { app, token } = server
  const nextMail = async () => {
    const { envelope, subject, text } = await smtp.next()
    return [envelope.to.join(), subject, text.split(/\r?\n\r?\n/)[0]]
  }
  await app.listen({ host: '127.0.0.1', port })
  const service = await token({ service: true })
  const person = async (email: string, changes = {}) => (await createPerson(server, email, changes)).id
  const { backendKey } = (await app.inject('/api/config')).json<{ backendKey: string }>()
  const { evaluate, knowPerson, changeDevices } = await openPage(t, `${url}/health/live`)
  await evaluate(`window.auth = supabase.createClient('${url}', '${backendKey}').auth; 0`)
  interface Result { data: Record<string, unknown> | null, error: { code?: string, name?: string } | null }
  /** Runs a call of the client. An error is returned as its code and name. */
  const call = (expression: string) => evaluate<Result>(`(async () => { const { data, error } = await ${expression}
    return { data, error: error && { code: error.code, name: error.name, message: error.message } }
  })()`)
  const signIn = (email: string) => call(`auth.signInWithPassword({ email: '${email}', password: '${PASSWORD}' })`)
  const access = () => evaluate<string>("auth.getSession().then(({ data }) => data.session?.access_token ?? '')")
  const methods = async () => (claimsOf(await access()).amr as { method: string }[]).map(({ method }) => method)

  t.test('a person registers a passkey, names it, and signs in with it alone', async (t) => {
    const id = await person('anna@example.org', { user_metadata: { lingua: 'fr' } })
    t.equal((await signIn('anna@example.org')).error, null)
    const made = await call('auth.registerPasskey()')
    t.equal(made.error, null)
    const passkeyId = String(made.data!.id)
    t.same(await nextMail(), ['anna@example.org', ...fr.notices.passkey_added.slice(0, 2)], 'the user gets a mail')
    const again = await call('auth.registerPasskey()')
    t.ok(again.error, 'the same device needs no second passkey')
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
    t.match(await app.sql`select action from audit_log where object = ${`passkey:${passkeyId}`}`,
      [{ action: 'passkey_registrata' }])
  })

  t.test('a device that cannot verify its person is refused, and a repeated response is refused', async (t) => {
    await knowPerson(false)
    t.ok((await call('auth.signInWithPasskey()')).error)
    await knowPerson(true)
    // The device's raw response. It is sent twice, and then for another challenge.
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

  t.test('a banned person cannot sign in with a passkey, and a removed passkey is refused', async (t) => {
    const [row] = await app.sql<{ id: string, user_id: string }[]>`select id, user_id from webauthn_credentials`
    await app.sql`update users set banned_until = now() + interval '1 day' where id = ${row!.user_id}`
    t.match((await call('auth.signInWithPasskey()')).error, { code: 'user_banned' })
    await app.sql`update users set banned_until = null where id = ${row!.user_id}`
    const listed = await callAs(app, service, 'GET', `/auth/v1/admin/users/${row!.user_id}/passkeys`)
    t.match(listed.json(), [{ id: row!.id, friendly_name: 'Portatile' }])
    const path = `/auth/v1/admin/users/${row!.user_id}/passkeys/${row!.id}`
    t.equal((await callAs(app, service, 'DELETE', path)).statusCode, 204)
    t.equal((await callAs(app, service, 'DELETE', path)).statusCode, 404)
    t.same(await nextMail(), ['anna@example.org', ...fr.notices.passkey_removed.slice(0, 2)], 'one mail')
    t.match((await call('auth.signInWithPasskey()')).error, { code: 'webauthn_verification_failed' })
  })

  t.test('with a device as second factor a session has no access before a proof', async (t) => {
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
    t.match((await call('auth.signInWithPasskey()')).error, { name: String }, 'the key of a factor is not a passkey')
  })

  t.test('a password-only session cannot finish an enrolment that another session began', async (t) => {
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
      return await auth.mfa.webauthn.verify({ factorId: '${factorId}', challengeId, webauthn }) })()`)
    t.match(taken.error, { code: 'insufficient_aal' })
    t.same(await app.sql`select id from webauthn_credentials where factor_id = ${factorId}`, [])
  })
})

t.test('a malformed device response is refused with a clear error', async (t) => {
  const somebody = await token()
  const post = async (path: string, payload: object) => {
    const answer = await callAs(app, somebody, 'POST', `/auth/v1${path}`, payload)
    return answer.json<{ error_code?: string } & Record<string, string>>()
  }
  const { challenge_id } = await post('/passkeys/registration/options', {})
  const response = { clientDataJSON: 'e30', attestationObject: 7 }
  const credential = { id: 'x', rawId: 'x', type: 'public-key', response }
  t.match(await post('/passkeys/registration/verify', { challenge_id, credential }),
    { error_code: 'webauthn_verification_failed' })
  t.match(await post('/passkeys/registration/verify', { challenge_id, credential }),
    { error_code: 'webauthn_challenge_not_found' })
  t.match(await post('/passkeys/registration/verify', { challenge_id }), { error_code: 'validation_failed' })
  const { id } = await post('/factors', { factor_type: 'webauthn' })
  const challenge = await post(`/factors/${id}/challenge`, {})
  const verify = (more: object) => post(`/factors/${id}/verify`, { challenge_id: challenge.id, ...more })
  t.match(await verify({}), { error_code: 'validation_failed' })
  t.match(await verify({ code: '123456' }), { error_code: 'validation_failed' })
  t.match(await verify({ webauthn: { type: 'request', credential_response: credential } }),
    { error_code: 'validation_failed' })
  t.match(await verify({ webauthn: { type: 'create', credential_response: credential } }),
    { error_code: 'mfa_verification_failed' })
})

t.test('at an IP address, the server does not offer features that browsers support only for domains', async (t) => {
  const { app, token } = await build(t, { PUBLIC_URL: 'http://127.0.0.1:3000' })
  const somebody = await token()
  const post = async (path: string, payload: object) =>
    (await callAs(app, somebody, 'POST', `/auth/v1${path}`, payload)).json<{ error_code: string }>().error_code
  t.equal(await post('/passkeys/authentication/options', {}), 'passkey_disabled')
  t.equal(await post('/passkeys/registration/options', {}), 'passkey_disabled')
  for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
    const url = `/auth/v1/passkeys${method === 'GET' ? '' : '/00000000-0000-4000-8000-000000000000'}`
    const answer = await callAs(app, somebody, method, url, method === 'PATCH' ? { friendly_name: 'x' } : undefined)
    t.match([answer.statusCode, answer.json()], [404, { error_code: 'passkey_disabled' }], method)
  }
  t.equal(await post('/factors', { factor_type: 'webauthn' }), 'mfa_webauthn_enroll_not_enabled')
  t.match((await app.inject('/auth/v1/settings')).json(), { passkeys_enabled: false })
})

const MASTER_KEY = Buffer.alloc(32, 7).toString('base64')
const party = (environ: Record<string, string>) =>
  relyingParty(readConfig({ MASTER_KEY, DATA_DIR: '/non/usata', ...environ }))

t.test('devices belong to the host of the public URL, and pages on it or its subdomains may use them', async (t) => {
  t.match(party({ PUBLIC_URL: 'https://locanda.example' }),
    { id: 'locanda.example', origins: ['https://locanda.example'] })
  t.same(
    party({
      PUBLIC_URL: 'https://api.locanda.example',
      CORS_ORIGINS: 'https://app.locanda.example,https://altrove.example,https://lalocanda.example',
      PASSKEY_DOMAIN: 'locanda.example'
    })?.origins,
    ['https://api.locanda.example', 'https://app.locanda.example']
  )
  t.match(party({ PUBLIC_URL: 'http://localhost:3000' }), { id: 'localhost' })
})

/** RFC 6238, appendix B, SHA-1: seconds, and the code of eight digits. Apps show the last six digits. */
const VECTORS: [seconds: number, code: string][] = [
  [59, '94287082'], [1_111_111_109, '07081804'], [1_111_111_111, '14050471'], [1_234_567_890, '89005924'],
  [2_000_000_000, '69279037'], [20_000_000_000, '65353130']
]
const RFC_SECRET = Buffer.from('12345678901234567890')

t.test('the codes of RFC 6238 are accepted, each in its own half minute', async (t) => {
  for (const [seconds, code] of VECTORS) {
    t.equal(matchStep(RFC_SECRET, code.slice(2), null, seconds * 1000), Math.floor(seconds / 30), `${seconds} s`)
  }
})

t.test('a code is accepted half a minute before and after its own half minute, and at no other time', async (t) => {
  const [seconds, code] = VECTORS[3]!
  const own = Math.floor(seconds / 30)
  for (const [steps, expected] of [[-2, undefined], [-1, own], [0, own], [1, own], [2, undefined]] as const) {
    t.equal(matchStep(RFC_SECRET, code.slice(2), null, (own + steps) * 30_000), expected, `${steps} steps off`)
  }
})

t.test('neither a used code nor a code of an earlier half minute is accepted', async (t) => {
  const [seconds, code] = VECTORS[3]!
  const own = Math.floor(seconds / 30)
  t.equal(matchStep(RFC_SECRET, code.slice(2), own - 1, seconds * 1000), own)
  t.equal(matchStep(RFC_SECRET, code.slice(2), own, seconds * 1000), undefined)
  t.equal(matchStep(RFC_SECRET, code.slice(2), own + 1, seconds * 1000), undefined)
})

t.test('blanks in a code are ignored, and other text is refused', async (t) => {
  const secret = newSecret()
  const code = codeOf(Secret.fromHex(secret.toString('hex')).base32)
  t.not(matchStep(secret, ` ${code.slice(0, 3)} ${code.slice(3)}`, null, Date.now()), undefined)
  const noCode = fc.oneof(fc.string({ unit: anyCharacter }), fc.stringMatching(/^\d{0,5}$|^\d{7,12}$/))
  fc.assert(fc.property(noCode, (text) => {
    t.equal(matchStep(secret, text, null, Date.now()), undefined)
  }), { numRuns: 200 })
})

t.test('the picture fits into a data URL, and the URI contains all that an app needs', async (t) => {
  const secret = newSecret()
  const { secret: text, uri, qr_code: svg } = await enrolmentOf(secret, 'locanda.example', 'anna+1@example.org')
  t.match(svg, /^<svg [^]*<\/svg>$/)
  t.notMatch(svg, /[#%]/)
  const { protocol, host, pathname, searchParams } = new URL(uri)
  t.equal(`${protocol}//${host}${decodeURIComponent(pathname)}`, 'otpauth://totp/locanda.example:anna+1@example.org')
  t.same(Object.fromEntries(searchParams),
    { issuer: 'locanda.example', secret: text, algorithm: 'SHA1', digits: '6', period: '30' })
  t.same(Buffer.from(Secret.fromBase32(text).bytes), secret)
})

/** A minimal model of the rules. Sessions and factors are indices in these lists. Undefined means deleted. */
interface Factor { id: string, secret?: string, verified: boolean }
interface Session { token: string, provenBy: Factor | undefined }

const COMMANDS = ['signIn', 'enrol', 'prove', 'remove', 'generate', 'useCode', 'adminRemoves', 'signOut'] as const
interface Step { do: typeof COMMANDS[number], session: number, factor: number }

/** Relative frequency of each step. The default is 1. */
const WEIGHTS: Partial<Record<Step['do'], number>> = { signIn: 3, enrol: 4, prove: 5, generate: 4, useCode: 3 }

const step = (does: Step['do']): fc.Arbitrary<Step> =>
  fc.record({ do: fc.constant(does), session: fc.nat(3), factor: fc.nat(3) })
const steps = fc.oneof(...COMMANDS.map((each) => ({ weight: WEIGHTS[each] ?? 1, arbitrary: step(each) })))

let people = 0

async function behaves (list: Step[], tally: Map<string, number>): Promise<void> {
  const name = `modello${++people}`
  let sessions: Session[] = []
  let factors: Factor[] = []
  let codes: (Factor & { list: string[] }) | undefined
  let userId = ''

  const hasVerified = () => codes !== undefined || factors.some(({ verified }) => verified)
  const drop = (gone: Factor) => {
    factors = factors.filter((each) => each !== gone)
    if (codes === gone) codes = undefined
    for (const session of sessions) if (session.provenBy === gone) session.provenBy = undefined
  }
  /** After a proof in a password-only session the server issues another token, and the previous one becomes invalid. */
  const raise = (session: Session, factor: Factor, token: unknown) => {
    if (!session.provenBy) session.token = String(token)
    session.provenBy = factor
    sessions = sessions.filter((each) => each === session || each.provenBy !== undefined)
  }
  const request = async (by: string, method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object) => {
    const answer = await callAs(app, by, method, `/auth/v1${path}`, payload)
    const body = answer.body === '' ? {} : answer.json<Record<string, unknown>>()
    return { outcome: String(body.error_code ?? 'ok'), body }
  }

  const play: Record<Step['do'], (session: Session, factor: Factor | undefined) => Promise<[string, string]>> = {
    async signIn () {
      const { access_token, user } = await signIn(app, name, 'operator')
      userId = user.id
      sessions.push({ token: access_token, provenBy: undefined })
      return ['ok', 'ok']
    },
    async enrol (session) {
      const expected = factors.length + (codes ? 1 : 0) >= 10
        ? 'too_many_enrolled_mfa_factors'
        : hasVerified() && !session.provenBy ? 'insufficient_aal' : 'ok'
      const { outcome, body } = await request(session.token, 'POST', '/factors', { factor_type: 'totp' })
      const { id, totp } = body as { id: string, totp?: { secret: string } }
      if (outcome === 'ok') factors.push({ id, secret: totp!.secret, verified: false })
      return [outcome, expected]
    },
    async prove (session, factor) {
      if (!factor) return ['ok', 'ok']
      const expected = !factor.verified && hasVerified() && !session.provenBy ? 'insufficient_aal' : 'ok'
      await forgetCodes(app)
      const challenge = await request(session.token, 'POST', `/factors/${factor.id}/challenge`, {})
      const payload = { challenge_id: challenge.body.id, code: codeOf(factor.secret!) }
      const { outcome, body } = await request(session.token, 'POST', `/factors/${factor.id}/verify`, payload)
      if (expected !== 'ok') return [outcome, expected]
      if (!factor.verified) {
        factor.verified = true
        factors = factors.filter(({ verified }) => verified)
      }
      raise(session, factor, body.access_token)
      return [outcome, 'ok']
    },
    async remove (session, factor) {
      if (!factor) return ['ok', 'ok']
      const isLast = factor.verified && factors.filter(({ verified }) => verified).length === 1
      const expected = factor.verified && !session.provenBy
        ? 'insufficient_aal'
        : isLast && codes ? 'mfa_recovery_codes_sole_factor' : 'ok'
      const { outcome } = await request(session.token, 'DELETE', `/factors/${factor.id}`)
      if (expected === 'ok') drop(factor)
      return [outcome, expected]
    },
    async generate (session) {
      const expected = !session.provenBy ? 'insufficient_aal' : codes ? 'mfa_verified_factor_exists' : 'ok'
      const { outcome, body } = await request(session.token, 'POST', '/factors/recovery-codes', {})
      if (outcome === 'ok') codes = { id: String(body.id), verified: true, list: body.codes as string[] }
      return [outcome, expected]
    },
    async useCode (session) {
      const expected = codes ? 'ok' : 'mfa_factor_not_found'
      const code = codes?.list.pop() ?? 'nessuno'
      const { outcome, body } = await request(session.token, 'POST', '/factors/recovery-codes/verify', { code })
      if (codes) raise(session, codes, body.access_token)
      return [outcome, expected]
    },
    async adminRemoves (_session, factor) {
      if (!factor) return ['ok', 'ok']
      const { outcome } = await request(service, 'DELETE', `/admin/users/${userId}/factors/${factor.id}`)
      drop(factor)
      if (codes && !factors.some(({ verified }) => verified)) drop(codes)
      return [outcome, 'ok']
    },
    async signOut (session) {
      const { outcome } = await request(session.token, 'POST', '/logout?scope=local')
      sessions = sessions.filter((each) => each !== session)
      return [outcome, 'ok']
    }
  }

  const ended: string[] = []
  for (const { do: does, session: at, factor } of list) {
    const all = sessions.map(({ token }) => token)
    const session = sessions[at % sessions.length]
    if (!session && does !== 'signIn') continue
    const [outcome, expected] = await play[does](session!, factors[factor % factors.length])
    tally.set(`${does} ${expected}`, (tally.get(`${does} ${expected}`) ?? 0) + 1)
    assert.equal(outcome, expected, does)
    const endedNow = all.filter((each) => !sessions.some(({ token }) => token === each))
    ended.push(...endedNow)
    for (const { token, provenBy } of sessions) {
      assert.equal(await isLetIn(app, bearer(token)), provenBy || !hasVerified() ? 200 : 403, `after ${does}`)
    }
    for (const token of endedNow) assert.equal(await isLetIn(app, bearer(token)), 401, `after ${does}`)
  }
  for (const token of ended) assert.equal(await isLetIn(app, bearer(token)), 401, 'permanently')
}

t.test('factors, sessions and their levels follow the rules in every sequence of events', async (t) => {
  const tally = new Map<string, number>()
  await t.resolves(fc.assert(
    fc.asyncProperty(
      fc.array(steps, { minLength: 6, maxLength: 25, size: 'max' }),
      (list) => behaves([{ do: 'signIn', session: 0, factor: 0 }, ...list], tally)
    ),
    { numRuns: 12 }
  ))
  t.comment(JSON.stringify(Object.fromEntries(tally)))
})

t.test('the most important sequences', async (t) => {
  const [signIn, enrol, prove, remove, generate, useCode, adminRemoves] = COMMANDS
    .map((each) => (session = 0, factor = 0): Step => ({ do: each, session, factor }))
  for (const list of [
    [signIn!(), signIn!(), enrol!(), enrol!(), prove!(0, 1), signIn!(), enrol!(1), remove!(1), useCode!(1), prove!(1)],
    [signIn!(), enrol!(), prove!(), generate!(), generate!(), signIn!(), useCode!(1), remove!(1), enrol!(1),
      prove!(1, 1), remove!(0, 0), adminRemoves!(), signIn!(), enrol!(0)],
    [signIn!(), enrol!(), prove!(), generate!(), useCode!(), adminRemoves!(), generate!(), enrol!()],
    [signIn!(), ...Array.from({ length: 11 }, () => enrol!()), remove!(), enrol!()]
  ]) await t.resolves(behaves(list, new Map()))
})
