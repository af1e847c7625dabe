import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { as, bearer, isLetIn } from '#test/identity/requests.ts'
import { build, signIn } from '#test/helper.ts'
import { codeOf, forgetCodes } from './authenticator.ts'

/** The rules in the fewest words. Sessions and factors are named by their places in these lists; undefined: gone. */
interface Factor { id: string, secret?: string, verified: boolean }
interface Session { token: string, provenBy: Factor | undefined }

const COMMANDS = ['signIn', 'enrol', 'prove', 'remove', 'generate', 'useCode', 'adminRemoves', 'signOut'] as const
interface Step { do: typeof COMMANDS[number], session: number, factor: number }

/** How often, where it is not once. */
const WEIGHTS: Partial<Record<Step['do'], number>> = { signIn: 3, enrol: 4, prove: 5, generate: 4, useCode: 3 }

const step = (does: Step['do']): fc.Arbitrary<Step> =>
  fc.record({ do: fc.constant(does), session: fc.nat(3), factor: fc.nat(3) })
const steps = fc.oneof(
  ...COMMANDS.map((each) => ({ weight: WEIGHTS[each] ?? 1, arbitrary: step(each) }))
)

const { app, token } = await build(t)
const service = await token({ service: true })
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
  /** A proof from the password alone gives another token; the one from before is void. */
  const raise = (session: Session, factor: Factor, token: unknown) => {
    if (!session.provenBy) session.token = String(token)
    session.provenBy = factor
    sessions = sessions.filter((each) => each === session || each.provenBy !== undefined)
  }
  const request = async (by: string, method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object) => {
    const answer = await as(app, by, method, `/auth/v1${path}`, payload)
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
  for (const token of ended) assert.equal(await isLetIn(app, bearer(token)), 401, 'for good')
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
