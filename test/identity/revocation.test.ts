import { setImmediate as turn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { listenToChanges } from '#src/identity/changes.ts'
import { connect, type Connection } from '#src/plugins/database/connect.ts'
import { testDatabase } from '#test/database.ts'
import { signIn } from '#test/helper.ts'
import { as, bearer, twins } from './twins.ts'

const CHANNEL = 'locanda_identity'
/** Longer than any test: who is waited for must answer. */
const PATIENCE_MS = 60_000
/** Streams of requests at once on each server. */
const STREAMS = 3
/** Requests that each of them begins after the answer. */
const AFTERWARDS = 10

type Sql = Connection['sql']

interface Answer { statusCode: number }
interface Asked { isAfter: boolean, status: number }

/**
 * Asks all servers over and over, while `change` is made, and some times after it is answered. What was begun before may come to
 * anything; what is begun later must not.
 */
async function during (apps: FastifyInstance[], request: { url: string, headers: Record<string, string> }, change: () => Promise<Answer>) {
  const asked: Asked[] = []
  let isAnswered = false
  const { promise: underWay, resolve: begin } = Promise.withResolvers<void>()
  const streams = apps.flatMap((app) => Array.from({ length: STREAMS }, async () => {
    for (let left = AFTERWARDS; left > 0;) {
      // What is remembered is answered without leaving the event loop a moment for anything else.
      await turn()
      const isAfter = isAnswered
      const { statusCode: status } = await app.inject(request)
      asked.push({ isAfter, status })
      if (isAfter) left--
      if (asked.length >= apps.length * STREAMS * 2) begin()
    }
  }))
  await underWay
  const { statusCode } = await change()
  isAnswered = true
  await Promise.all(streams)
  const statuses = (wanted: boolean) => [...new Set(asked.filter(({ isAfter }) => isAfter === wanted).map(({ status }) => status))].sort()
  return { change: statusCode, before: statuses(false), after: statuses(true), count: asked.filter(({ isAfter }) => isAfter).length }
}

t.test('after the answer to whatever takes rights away, no request that begins succeeds, on any server', async (t) => {
  const [{ app, token }, { app: other }] = await twins(t)
  const apps = [app, other]
  const service = await token({ service: true })
  await signIn(app, 'ada', 'admin')
  const put = (id: string, body: object) => as(app, service, 'PUT', `/auth/v1/admin/users/${id}`, body)
  const OWN = '/api/v1/paesi'

  type Case = [name: string, url: string, status: number, change: (id: string, token: string) => Promise<Answer>]
  const cases: Case[] = [
    ['demotion', '/api/users', 403, (id) => put(id, { app_metadata: { role: 'operator' } })],
    ['loss of the role', OWN, 403, (id) => put(id, { app_metadata: { role: 'pending' } })],
    ['a ban', OWN, 401, (id) => put(id, { ban_duration: '1h' })],
    ['deletion', OWN, 401, (id) => as(app, service, 'DELETE', `/auth/v1/admin/users/${id}`)],
    ['soft deletion', OWN, 401, (id) => as(app, service, 'DELETE', `/auth/v1/admin/users/${id}`, { should_soft_delete: true })],
    ['a new password', OWN, 401, (id) => put(id, { password: 'una-frase-lunga-e-nuova' })],
    ['signing out', OWN, 401, (_id, token) => as(app, token, 'POST', '/auth/v1/logout?scope=local')],
    ['signing out everywhere', OWN, 401, (_id, token) => as(other, token, 'POST', '/auth/v1/logout')],
    ['revoking all sessions', OWN, 401, (_id, token) => as(app, token, 'POST', '/api/sessions/revoke-all')]
  ]
  for (const [n, [name, url, status, change]] of cases.entries()) {
    const { user, access_token } = await signIn(app, `persona-${n}`, 'admin')
    const seen = await during(apps, { url, headers: bearer(access_token) }, () => change(user.id, access_token))
    t.ok(seen.change === 200 || seen.change === 204, `${name}: ${seen.change}`)
    t.ok(seen.before.includes(200), `${name}: before it they were let in`)
    t.same(seen.after, [status], name)
    t.equal(seen.count, apps.length * STREAMS * AFTERWARDS)
  }

  const { access_token: second } = await signIn(app, 'bruno', 'operator')
  const { access_token: first } = await signIn(app, 'bruno', 'operator')
  t.same((await during(apps, { url: OWN, headers: bearer(first) }, () => as(app, second, 'POST', '/auth/v1/logout?scope=others'))).after, [401], 'signing out the others')
  t.same((await during(apps, { url: OWN, headers: bearer(second) }, async () => ({ statusCode: 204 }))).after, [200], 'which leaves the one that asked')

  const { apiKey, id } = (await as(app, second, 'GET', '/api/cli/auth/key')).json() as { apiKey: string, id: string }
  t.same((await during(apps, { url: OWN, headers: { 'x-api-key': apiKey } }, () => as(other, second, 'DELETE', `/api/v1/keys/${id}`))).after, [401], 'a revoked key')
  t.same((await during(apps, { url: OWN, headers: bearer(second) }, () => as(app, service, 'POST', '/api/v1/signing-keys/rotate', { immediate: true }))).after, [401], 'a rotation at once')
})

t.test('what changes is heard by every process', async (t) => {
  const { url } = await testDatabase(t)
  const connections = Array.from({ length: 4 }, () => connect(url, 2))
  t.teardown(() => Promise.all(connections.map(({ close }) => close())))
  const [asking, other, slow, mute] = connections.map(({ sql }) => sql) as [Sql, Sql, Sql, Sql]
  const complaints: unknown[] = []
  const log = { warn: (...words: unknown[]) => { complaints.push(words) }, error: (...words: unknown[]) => { complaints.push(words) } }
  const echo = Promise.withResolvers<void>()
  const heard: string[] = []
  const changes = listenToChanges(asking, log, (_change, id) => { if (id === 'echo') echo.resolve() }, () => {}, PATIENCE_MS)
  const others = listenToChanges(other, log, (change, id) => { heard.push(`${change}:${id}`) }, () => {}, PATIENCE_MS)
  const notify = (sql: Sql, payload: string) => sql`select pg_notify(${CHANNEL}, ${payload})`

  await t.test('one that is alone waits for itself', async () => {
    await changes.settled()
    await changes.settled()
  })

  await t.test('with others it waits until they have heard everything that came before', async (t) => {
    await others.ready()
    for (let n = 0; n < 20; n++) {
      await notify(asking, `user:${n}`)
      await changes.settled()
      t.equal(heard.at(-1), `user:${n}`)
    }
  })

  await t.test('one that takes its time is waited for', async (t) => {
    const asked = Promise.withResolvers<string>()
    const answered = Promise.withResolvers<void>()
    await slow.listen(CHANNEL, (payload) => {
      const [what, id = ''] = payload.split(':')
      if (what === 'sync') asked.resolve(id)
      if (what === 'ack') answered.resolve()
    })
    let isSettled = false
    const settled = changes.settled().then(() => { isSettled = true })
    const id = await asked.promise
    await answered.promise
    // Whoever asks has heard the other's answer when they hear this.
    await notify(slow, 'user:echo')
    await echo.promise
    t.equal(isSettled, false)
    await notify(slow, `ack:${id}`)
    await settled
  })

  await t.test('one that does not answer is not waited for long', async () => {
    await mute.listen(CHANNEL, () => {})
    await listenToChanges(slow, log, () => {}, () => {}, 100).settled()
  })

  t.same(complaints, [])
})
