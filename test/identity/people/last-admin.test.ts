import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { signIn } from '#test/helper.ts'
import { as } from '#test/identity/requests.ts'
import { twoServers } from '#test/identity/two-servers.ts'

/** In as many each way to remove somebody comes first once, and once second. */
const ROUNDS = 5

/** What takes an administrator's rights away. */
const REMOVALS: Record<
  string,
  (app: FastifyInstance, token: string, id: string) => Promise<{ statusCode: number; json: () => unknown }>
> = {
  demoted: (app, token, id) =>
    as(app, token, 'PUT', `/auth/v1/admin/users/${id}`, { app_metadata: { role: 'operator' } }),
  'left without a role': (app, token, id) =>
    as(app, token, 'PUT', `/auth/v1/admin/users/${id}`, { app_metadata: { role: null } }),
  banned: (app, token, id) => as(app, token, 'PUT', `/auth/v1/admin/users/${id}`, { ban_duration: '24h' }),
  deleted: (app, token, id) => as(app, token, 'DELETE', `/auth/v1/admin/users/${id}`),
  'softly deleted': (app, token, id) =>
    as(app, token, 'DELETE', `/auth/v1/admin/users/${id}`, { should_soft_delete: true })
}

/** Those who can come in as administrators. */
const admins = async (app: FastifyInstance) =>
  (
    await app.sql`
      select id from users
      where deleted_at is null and (banned_until is null or banned_until <= now())
        and app_metadata ->> 'role' = 'admin'`
  ).map(({ id }) => String(id))

const [{ app, token }, { app: other }] = await twoServers(t)

t.test('the last administrator', async (t) => {
  const service = await token({ service: true })
  const { user: { id }, access_token: own } = await signIn(app, 'anna', 'admin')
  await signIn(app, 'piero', 'operator')

  t.test('the last administrator cannot be demoted, banned or deleted, by any caller', async (t) => {
    for (const [name, remove] of Object.entries(REMOVALS)) {
      for (const [who, by] of Object.entries({ themselves: own, 'the service key': service })) {
        const answer = await remove(app, by, id)
        t.equal(answer.statusCode, 422, `${name} by ${who}`)
        t.match(answer.json(), { error_code: 'last_admin', msg: 'The last administrator cannot be removed' })
        t.same(await admins(app), [id])
        t.equal((await as(other, own, 'GET', '/api/users')).statusCode, 200, 'and goes on')
      }
    }
  })

  t.test('banned, deleted or self-declared administrators do not count as others', async (t) => {
    const { user: banned } = await signIn(app, 'bandita', 'admin')
    const { user: deleted } = await signIn(app, 'eliminata', 'admin')
    const { user: pretender } = await signIn(app, 'furbo', 'operator')
    t.equal((await REMOVALS.banned!(app, service, banned.id)).statusCode, 200)
    t.equal((await REMOVALS['softly deleted']!(app, service, deleted.id)).statusCode, 200)
    await app.sql`update users set user_metadata = '{"role":"admin"}' where id = ${pretender.id}`
    for (const [name, remove] of Object.entries(REMOVALS)) {
      t.equal((await remove(app, service, id)).statusCode, 422, name)
    }
    await app.sql`update users set banned_until = now() where id = ${banned.id}`
    t.equal((await REMOVALS.demoted!(app, service, id)).statusCode, 200, 'when the ban is over there is another')
    t.same(await admins(app), [banned.id])
  })

  t.test('every other field of the last administrator can be changed', async (t) => {
    const [last] = await admins(app)
    const change = async (body: object) =>
      (await as(app, service, 'PUT', `/auth/v1/admin/users/${last}`, body)).statusCode
    t.equal(await change({ user_metadata: { name: 'Anna' } }), 200)
    t.equal(await change({ app_metadata: { piano: 'primo' } }), 200)
    t.equal(await change({ app_metadata: { role: 'admin' }, ban_duration: 'none' }), 200)
    t.equal(
      await change({ app_metadata: { role: 'operator', roles: ['admin'] } }),
      200,
      'an administrator by a list of roles'
    )
    t.equal(await change({ app_metadata: { roles: [] } }), 422)
    t.equal(await change({ app_metadata: { role: 'admin', roles: null } }), 200)
  })

  t.test('an operator can be demoted, banned and deleted', async (t) => {
    for (const [name, remove] of Object.entries(REMOVALS)) {
      const { user } = await signIn(app, `op-${name.replaceAll(' ', '-')}`, 'operator')
      t.equal((await remove(app, service, user.id)).statusCode, 200, name)
    }
  })
})

t.test('of two administrators who are removed at the same moment, on two servers, one stays', async (t) => {
  const service = await token({ service: true })
  const ways = Object.entries(REMOVALS)
  const removeBoth = async (round: number, first: string, second: string, by: [string, string]) => {
    const [[nameOne, one], [nameTwo, two]] = [ways[round % ways.length]!, ways[(round * 2 + 1) % ways.length]!]
    const answers = await Promise.all([one(app, by[0], first), two(other, by[1], second)])
    return { how: `${nameOne}, ${nameTwo}`, statuses: answers.map(({ statusCode }) => statusCode).sort() }
  }

  t.test('one stays when the service key removes both', async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      await app.sql`delete from users`
      const [a, b] = [await signIn(app, `a${round}`, 'admin'), await signIn(app, `b${round}`, 'admin')]
      const { how, statuses } = await removeBoth(round, a.user.id, b.user.id, [service, service])
      t.same(statuses, [200, 422], how)
      t.equal((await admins(app)).length, 1)
    }
  })

  t.test('one stays when they remove each other', async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      await app.sql`delete from users`
      const [a, b] = [await signIn(app, `a${round}`, 'admin'), await signIn(app, `b${round}`, 'admin')]
      const { how, statuses } = await removeBoth(round, b.user.id, a.user.id, [a.access_token, b.access_token])
      // The one may be refused because he is the last, or because he is none any more.
      t.equal(statuses[0], 200, how)
      t.ok([401, 403, 422].includes(statuses[1]!), `${how}: ${statuses[1]}`)
      t.equal((await admins(app)).length, 1)
    }
  })

  t.test('one stays when each demotes themselves', async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      await app.sql`delete from users`
      const [a, b] = [await signIn(app, `a${round}`, 'admin'), await signIn(app, `b${round}`, 'admin')]
      const demote = REMOVALS.demoted!
      const answers = await Promise.all([
        demote(app, a.access_token, a.user.id),
        demote(other, b.access_token, b.user.id)
      ])
      t.same(answers.map(({ statusCode }) => statusCode).sort(), [200, 422])
      t.equal((await admins(app)).length, 1)
    }
  })
})

t.test('a demotion is not undone by another change of the same account at the same moment', async (t) => {
  const service = await token({ service: true })
  await app.sql`delete from users`
  await signIn(app, 'anna', 'admin')
  for (let round = 0; round < ROUNDS; round++) {
    const { user: { id } } = await signIn(app, `a${round}`, 'admin')
    const change = (on: FastifyInstance, body: object) => as(on, service, 'PUT', `/auth/v1/admin/users/${id}`, body)
    const answers = await Promise.all([
      change(app, { app_metadata: { role: 'operator' } }),
      change(other, { app_metadata: { piano: 'primo' } }),
      change(app, { user_metadata: { name: 'Anna' } })
    ])
    t.same(answers.map(({ statusCode }) => statusCode), [200, 200, 200])
    const [user] = await app.sql`select app_metadata, user_metadata from users where id = ${id}`
    t.match({ ...user }, { app_metadata: { role: 'operator', piano: 'primo' }, user_metadata: { name: 'Anna' } })
  }
})
