import t from 'tap'
import { codeOf, forgetCodes, personWithApp } from './authenticator.ts'
import { provider, tokensOf } from '#test/identity/protocol/client.ts'
import { as, bearer } from '#test/identity/requests.ts'
import { startSmtp } from '#test/smtp.ts'

t.test('after too many wrong codes not even a right one counts, and recovery codes are counted apart', async (t) => {
  const server = await provider(t, { RATE_LIMIT_LOGIN_MAX: '3', RATE_LIMIT_WINDOW: '1' })
  const { client, app: { id, secret } } = await personWithApp(server)
  const { mfa } = client.auth
  const codes = (await mfa.recoveryCodes.generate()).data!.codes
  await forgetCodes(server.app)
  const attempt = async (code: string) => (await mfa.challengeAndVerify({ factorId: id, code })).error
  for (let n = 0; n < 3; n++) t.match(await attempt('abcdef'), { code: 'mfa_verification_failed' })
  t.match(await attempt(codeOf(secret)), { code: 'over_request_rate_limit', status: 429 })
  t.match(client.exchanges.at(-1), { status: 429 })

  for (let n = 0; n < 3; n++) {
    t.match((await mfa.recoveryCodes.verify({ code: 'nessuno' })).error, { code: 'mfa_verification_failed' })
  }
  t.match((await mfa.recoveryCodes.verify({ code: codes[0]! })).error, {
    code: 'mfa_recovery_codes_locked', status: 429
  })
  await server.app.sql`delete from counters`
  t.equal((await mfa.recoveryCodes.verify({ code: codes[0]! })).error, null, 'the code was not used up')
  t.equal(await attempt(codeOf(secret)), null)
})

t.test('who guesses from many addresses shuts the owner out neither at home nor of a recovery', async (t) => {
  const smtp = await startSmtp(t)
  const server = await provider(t, {
    RATE_LIMIT_LOGIN_MAX: '2', TRUST_PROXY: '127.0.0.1', SMTP_URL: smtp.url, MAIL_FROM: 'posta@locanda.example'
  })
  const { app } = server
  const { client, person, app: { id, secret } } = await personWithApp(server)
  t.match(await smtp.next(), { subject: 'Nuovo secondo fattore', envelope: { to: [person.email] } })
  const codes = (await client.auth.mfa.recoveryCodes.generate()).data!.codes
  await smtp.next()
  const { access: guesser } = await tokensOf(await server.signedIn(person))
  const from = async (ip: string, path: string, payload: object, token = guesser) => {
    const headers = { ...bearer(token), 'x-forwarded-for': ip }
    return await app.inject({ method: 'POST', url: `/auth/v1/factors/${path}`, headers, payload })
  }
  const attempt = async (ip: string, code: string, token = guesser) => {
    const challenge_id = (await from(ip, `${id}/challenge`, {}, token)).json<{ id: string }>().id
    return (await from(ip, `${id}/verify`, { challenge_id, code }, token)).statusCode
  }
  await forgetCodes(app)
  for (let n = 0; n < 10; n++) t.equal(await attempt(`192.0.2.${n}`, 'abcdef'), 422)
  t.equal(await attempt('192.0.2.99', codeOf(secret)), 429, 'not even a right one, from anywhere, within a day')
  const [{ seconds }] = await app.sql<[{ seconds: number }]>`
    select extract(epoch from max(ends_at) - now())::int as seconds from counters where name = 'second-factor/account'`
  t.ok(seconds > 80_000)
  const told = await smtp.next()
  t.match(told, { subject: 'Codici sbagliati per il tuo account', envelope: { to: [person.email] } })
  t.notMatch(told.text, /192\.0\.2/)
  t.equal(smtp.mails.length, 3, 'once')

  t.equal(await attempt('127.0.0.1', codeOf(secret), (await tokensOf(client)).access), 200, 'the owner, at home')
  await app.sql`delete from counters where name like 'sign-in/%'`
  const again = (await tokensOf(await server.signedIn(person))).access
  for (const status of [422, 422, 429]) {
    t.equal((await from('192.0.2.99', 'recovery-codes/verify', { code: 'nessuno' }, again)).statusCode, status)
  }
  const { access } = await tokensOf(await server.signedIn(person))
  t.equal((await from('192.0.2.99', 'recovery-codes/verify', { code: codes[0]! }, access)).statusCode, 200)
})

t.test('of many requests at once with one code exactly one is let in, and guesses at once are counted', async (t) => {
  const server = await provider(t, { RATE_LIMIT_LOGIN_MAX: '5', RATE_LIMIT_WINDOW: '1' })
  const { app } = server
  const { client, person, app: { id, secret } } = await personWithApp(server)
  const codes = (await client.auth.mfa.recoveryCodes.generate()).data!.codes
  await forgetCodes(app)
  const { access } = await tokensOf(client)
  const verify = async (code: string) => {
    const challenge = await as(app, access, 'POST', `/auth/v1/factors/${id}/challenge`, {})
    const payload = { challenge_id: challenge.json<{ id: string }>().id, code }
    return (await as(app, access, 'POST', `/auth/v1/factors/${id}/verify`, payload)).statusCode
  }
  const times = <T> (n: number, work: () => Promise<T>) => Promise.all(Array.from({ length: n }, work))
  const same = await times(6, () => verify(codeOf(secret)))
  t.equal(same.filter((status) => status === 200).length, 1)
  await app.sql`delete from counters`
  const recovery = await times(6, async () => (
    await as(app, access, 'POST', '/auth/v1/factors/recovery-codes/verify', { code: codes[0]! })
  ).statusCode)
  t.equal(recovery.filter((status) => status === 200).length, 1)
  const half = (await tokensOf(await server.signedIn(person))).access
  const fromPassword = await times(6, async () => (
    await as(app, half, 'POST', '/auth/v1/factors/recovery-codes/verify', { code: codes[1]! })
  ).statusCode)
  t.equal(fromPassword.filter((status) => status === 200).length, 1)
  // Of the others some find the code used, the session ended, or nobody behind their token.
  t.ok(fromPassword.every((status) => [200, 422, 403, 401].includes(status)), JSON.stringify(fromPassword))
  await app.sql`delete from counters`
  const guesses = await times(12, () => verify('000 00'))
  t.equal(guesses.filter((status) => status === 422).length, 5)
  t.equal(guesses.filter((status) => status === 429).length, 7)
})
