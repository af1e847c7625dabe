import { randomUUID } from 'node:crypto'
import { eq } from 'drizzle-orm'
import t from 'tap'
import { seen_sessions } from '#drizzle/tables/identity.ts'
import { seenSessions } from '#src/identity/external/seen-sessions.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { build, type TestApp } from '#test/helper.ts'
import { unwritable } from '#test/plugins/audit/samples.ts'
import { bearer } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { PATIENT, startProvider } from './provider-server.ts'

const SOMEWHERE = '/api/v1/paesi'

interface Listed {
  id: string
  created_at: string
  updated_at: string
  user_agent: string
  ip: string
  current: boolean
}

t.test('sessions of an external provider', async (t) => {
  const idp = await startProvider(t)
  const first = await build(t, idp.environ, undefined, PATIENT)
  const second = await build(t, { ...idp.environ, DATABASE_URL: first.url }, undefined, PATIENT)
  const { sql } = first.app
  const token = async (name: string) => await idp.twin.token({ name })
  const statusOf = async ({ app }: TestApp, token: string, agent = 'prova') => (
    (await app.inject({ url: SOMEWHERE, headers: { ...bearer(token), 'user-agent': agent } })).statusCode)
  const status = async (token: string, at = first) => await statusOf(at, token)
  /** As soon as the second process has heard of it: a notification is on its way for a moment. */
  const refused = (token: string, at = first) => until(async () => await status(token, at) === 401)
  const listed = async (token: string, { app } = first) =>
    (await app.inject({ url: '/api/sessions', headers: bearer(token) })).json<Listed[]>()
  const revokeAll = async (token: string, { app } = first) =>
    await app.inject({ method: 'POST', url: '/api/sessions/revoke-all', headers: bearer(token) })
  const isOver = async (token: string) =>
    (await fetch(`${idp.url}/auth/v1/user`, { headers: bearer(token) })).status === 403
  const row = async (token: string) =>
    (
      await first.app.db
        .select()
        .from(seen_sessions)
        .where(eq(seen_sessions.id, claimsOf(token).session_id))
    )[0]!

  t.test('each session that is seen is listed to its person, with the device that last used it', async (t) => {
    const [one, other, stranger] = [await token('anna'), await token('anna'), await token('bruno')]
    t.equal(await statusOf(first, one, 'telefono'), 200)
    t.equal(await status(stranger), 200)
    t.same((await listed(one)).map(({ id, user_agent, ip, current }) => ({ id, user_agent, ip, current })), [
      { id: claimsOf(one).session_id, user_agent: 'telefono', ip: '127.0.0.1', current: true }
    ])
    t.equal(await status(other, second), 200)
    t.same((await listed(other, second)).map(({ id, current }) => ({ id, current })), [
      { id: claimsOf(other).session_id, current: true }, { id: claimsOf(one).session_id, current: false }
    ])
    t.same((await row(one)).expires_at, new Date(Number(claimsOf(one).exp) * 1000))
    t.same((await first.call('GET', '/api/sessions')).json(), [], 'the server key has none')
  })

  t.test('a session’s device and the end of its latest token are recorded once a minute', async (t) => {
    const seen = await token('carla')
    const at = async (agent: string) => {
      await first.app.identity.waitForListeners()
      t.equal(await statusOf(first, seen, agent), 200)
      await listed(seen)
      return await row(seen)
    }
    const before = await at('prima')
    t.equal(before.user_agent, 'prima')
    t.equal((await at('subito dopo')).user_agent, 'prima')
    await sql`
      update seen_sessions
      set updated_at = now() - interval '61 seconds', expires_at = now() + interval '1 minute'
      where id = ${claimsOf(seen).session_id}`
    const after = await at('un minuto dopo')
    t.equal(after.user_agent, 'un minuto dopo')
    t.same(after.created_at, before.created_at)
    t.same(after.expires_at, before.expires_at)
  })

  t.test('a session whose tokens have all expired is not listed', async (t) => {
    const [one, other] = [await token('dora'), await token('dora')]
    for (const each of [one, other]) await listed(each)
    await sql`update seen_sessions set expires_at = now() where id = ${claimsOf(other).session_id}`
    t.same((await listed(one)).map(({ id }) => id), [claimsOf(one).session_id])
  })

  t.test(
    'revoke-all refuses every token of that person at once, here and in a second process, and ends the sessions there',
    async (t) => {
      const [one, other, unseen, stranger] = [
        await token('elena'),
        await token('elena'),
        await token('elena'),
        await token('fabio')
      ]
      for (const app of [first, second]) {
        for (const each of [one, other, stranger]) t.equal(await status(each, app), 200)
      }
      const answer = await revokeAll(one)
      t.equal(await status(one), 401, 'before anything is answered')
      t.same(answer.json(), { success: true, message: '2 sessioni chiuse', revoked: 2, status: 200 })
      for (const app of [first, second]) {
        for (const each of [one, other, unseen]) await refused(each, app)
        t.equal(await status(stranger, app), 200)
      }
      for (const each of [one, other, unseen]) t.ok(await isOver(each))
      const again = await token('elena')
      t.equal(await status(again), 200, 'a new sign-in')
      t.equal((await listed(again, second)).length, 1)
      t.equal(await status(one), 401)
      t.match((await revokeAll(again)).json(), { revoked: 1 })
      await refused(again, second)
    }
  )

  t.test('revoke-all works as the first request of a person', async (t) => {
    const [one, unseen] = [await token('gina'), await token('gina')]
    t.match((await revokeAll(one, second)).json(), { message: '1 sessione chiusa', revoked: 1 })
    for (const app of [first, second]) for (const each of [one, unseen]) await refused(each, app)
  })

  t.test('a session that is first seen at the moment of a revocation is refused', async (t) => {
    const [one, other] = [await token('ivo'), await token('ivo')]
    t.equal(await status(one), 200)
    await Promise.all([
      revokeAll(one),
      ...Array.from({ length: 10 }, (_, n) => status(other, n % 2 === 0 ? first : second))
    ])
    for (const app of [first, second]) await refused(other, app)
  })

  t.test('when the audit log cannot be written, the sessions go on, at the provider and here', async (t) => {
    const one = await token('lia')
    t.equal(await status(one), 200)
    const writable = await unwritable(sql)
    const answer = await revokeAll(one)
    await writable()
    t.match(answer.json(), { status: 503, codice: 'REGISTRO_NON_DISPONIBILE' })
    t.equal(await status(one), 200)
    t.notOk(await isOver(one))
  })

  t.test('revocations are written to the audit log before and after', async (t) => {
    const one = await token('mara')
    await revokeAll(one)
    const object = `user:${claimsOf(one).sub}`
    const rows = await sql`select actor, action, details from audit_log where object = ${object} order by id`
    t.same(rows.map(({ actor, action, details }) => ({ actor, action, details })), [
      { actor: object, action: 'sessioni_revocate', details: { phase: 'asked' } },
      { actor: object, action: 'sessioni_revocate', details: { phase: 'done', revoked: 1, keys: 0 } }
    ])
  })

  t.test('a session that has ended at the provider can still be ended here, with the person’s others', async (t) => {
    const [one, other] = [await token('nora'), await token('nora')]
    for (const each of [one, other]) t.equal(await status(each), 200)
    await fetch(`${idp.url}/auth/v1/logout?scope=global`, { method: 'POST', headers: bearer(one) })
    t.equal(await status(one), 200, 'its tokens last')
    t.match((await revokeAll(one)).json(), { revoked: 2 })
    for (const each of [one, other]) t.equal(await status(each), 401)
  })

  t.test('an API key cannot revoke sessions', async (t) => {
    const one = await token('olga')
    const { apiKey } = (await first.app.inject({ url: '/api/cli/auth/key', headers: bearer(one) })).json()
    for (const url of ['/api/sessions/revoke-all', '/api/auth/unlink']) {
      const answer = await first.app.inject({
        method: 'POST',
        url,
        headers: { 'x-api-key': apiKey },
        payload: url.endsWith('unlink') ? { provider: 'google' } : {}
      })
      t.match(answer.json(), { status: 403, codice: 'SERVE_UNA_PERSONA' })
    }
    t.equal(await status(one), 200)
  })

  t.test('sessions that ended a month ago are deleted', async (t) => {
    const user = randomUUID()
    await sql`
      insert into seen_sessions (id, user_id, expires_at) values
        (${randomUUID()}, ${user}, now() - interval '31 days'),
        (${randomUUID()}, ${user}, now() - interval '29 days')`
    const { deleteOld } = seenSessions(first.app.db, first.app.log, () => ({
      ready: async () => false,
      waitForListeners: async () => {}
    }))
    await deleteOld()
    t.equal((await sql`select 1 from seen_sessions where user_id = ${user}`).length, 1)
  })
})
