import t from 'tap'
import { codeOf, forgetCodes, personWithApp } from './authenticator.ts'
import { provider, tokensOf } from '#test/identity/protocol/client.ts'
import { as } from '#test/identity/requests.ts'

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

t.test('of many requests at once with one code, one is let in, and many guesses at once are counted', async (t) => {
  const server = await provider(t, { RATE_LIMIT_LOGIN_MAX: '5', RATE_LIMIT_WINDOW: '1' })
  const { app } = server
  const { client, app: { id, secret } } = await personWithApp(server)
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
  await app.sql`delete from counters`
  const guesses = await times(12, () => verify('000 00'))
  t.equal(guesses.filter((status) => status === 422).length, 5)
  t.equal(guesses.filter((status) => status === 429).length, 7)
})
