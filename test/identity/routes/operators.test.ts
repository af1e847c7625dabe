import t from 'tap'
import { isStaff } from '#src/identity/people/roles.ts'
import { createUser } from '#src/identity/people/users.ts'
import { API_KEY, build, signIn } from '#test/helper.ts'
import { as, bearer, isLetIn } from '#test/identity/requests.ts'
import { claimsOf, headerOf } from '#test/identity/token-parts.ts'
import { countStatements } from '#test/system/statements.ts'

const PIERO = { email: 'piero@example.org', password: 'una-frase-lunga-e-mia', name: 'Piero', surname: 'Neri' }

t.test('operators', async (t) => {
  const { app, token, logs } = await build(t, { PUBLIC_URL: 'https://locanda.example/' })
  const admin = await token({ name: 'anna', role: 'admin' })
  const create = async (body: object) => await as(app, admin, 'POST', '/api/operators', { ...PIERO, ...body })
  const people = async () => Number((await app.sql`select count(*) from users`)[0]?.count)

  t.test('a new operator is answered as the provider writes a user, and can sign in at once', async (t) => {
    const { statusCode, body, json, headers } = await create({})
    t.equal(statusCode, 200)
    t.equal(headers['cache-control'], 'no-store')
    const user = json()
    t.match(user, {
      id: /^[0-9a-f-]{36}$/,
      aud: 'authenticated',
      role: 'authenticated',
      email: 'piero@example.org',
      email_confirmed_at: String,
      app_metadata: { role: 'operator', provider: 'email', providers: ['email'] },
      user_metadata: { name: 'Piero', surname: 'Neri' },
      identities: [
        {
          provider: 'email',
          id: user.id,
          user_id: user.id,
          identity_data: { email: 'piero@example.org', email_verified: true }
        }
      ]
    })
    t.notMatch(body, /password|argon2/)
    const clientConfig = await app.inject({
      method: 'POST',
      url: '/auth/v1/token?grant_type=password',
      payload: { email: PIERO.email, password: PIERO.password }
    })
    t.equal(clientConfig.statusCode, 200)
    const { access_token: his } = clientConfig.json()
    t.equal(await isLetIn(app, bearer(his)), 200)
    t.equal((await as(app, his, 'GET', '/api/users')).statusCode, 403, 'he is no administrator')
  })

  t.test('the audit log names a new operator by ids alone, and the log has no personal data', async (t) => {
    const [entry] = await app.sql`select actor, action, object, details from audit_log order by id limit 1`
    const [{ id }] = await app.sql`select id from users where email = 'piero@example.org'` as [{ id: string }]
    t.same(
      { ...entry },
      {
        actor: `user:${claimsOf(admin).sub}`,
        action: 'utente_creato',
        object: `user:${id}`,
        details: { role: 'operator' }
      }
    )
    t.notMatch(JSON.stringify(logs), /piero@|una-frase|Neri|argon2/)
    const [{ password_hash }] = (await app.sql`select password_hash from users where id = ${id}`) as [
      { password_hash: string }
    ]
    t.match(password_hash, /^\$argon2id\$v=19\$/)
  })

  t.test('a taken address, in upper or lower case, is a 409', async (t) => {
    const before = await people()
    for (const email of ['piero@example.org', 'PIERO@Example.ORG', 'anna@example.org']) {
      const { statusCode, json } = await create({ email })
      t.equal(statusCode, 409, email)
      t.match(json(), {
        error: 'Esiste già un account con questo indirizzo e-mail',
        status: 409,
        codice: 'EMAIL_GIA_REGISTRATA'
      })
    }
    t.equal(await people(), before)
  })

  t.test('of two operators created at once with one address, one is created', async (t) => {
    const answers = await Promise.all(['bis@example.org', 'Bis@example.org'].map((email) => create({ email })))
    t.same(answers.map(({ statusCode }) => statusCode).sort(), [200, 409])
  })

  t.test('a wrong field is a 400 that names it, and no account is created', async (t) => {
    const before = await people()
    const wrong: [field: string, body: object][] = [
      ['password', { password: 'password' }],
      ['password', { password: 'corta' }],
      ['password', { password: 'x'.repeat(129) }],
      ['password', { password: 'x'.repeat(201) }],
      ['password', { password: '' }],
      ['password', { password: 'nuova@example.org', email: 'nuova@example.org' }],
      ['password', { password: 'una-frase\u0000-lunga' }],
      ['password', { password: 12345678 }],
      ['password', { password: undefined }],
      ['email', { email: 'piero' }],
      ['email', { email: 'piero@' }],
      ['email', { email: '@example.org' }],
      ['email', { email: 'a b@example.org' }],
      ['email', { email: 'piero@example.org\r\nBcc: x@example.org' }],
      ['email', { email: `${'x'.repeat(250)}@example.org` }],
      ['email', { email: '' }],
      ['email', { email: null }],
      ['email', { email: undefined }],
      ['name', { name: '' }],
      ['name', { name: 'x'.repeat(101) }],
      ['name', { name: 'a\u0000b' }],
      ['name', { name: undefined }],
      ['surname', { surname: undefined }],
      ['role', { role: 'admin' }],
      ['app_metadata', { app_metadata: { role: 'admin' } }]
    ]
    for (const [campo, body] of wrong) {
      const { statusCode, json } = await create({ email: 'nuova@example.org', ...body })
      t.equal(statusCode, 400, `${campo}: ${JSON.stringify(body).slice(0, 60)}`)
      t.match(json(), { status: 400, codice: 'RICHIESTA_NON_VALIDA', dettagli: [{ campo, messaggio: String }] })
    }
    t.equal(await people(), before)
  })

  t.test('only administrators create and list operators', async (t) => {
    const operator = await token()
    for (const [method, url] of [
      ['POST', '/api/operators'],
      ['GET', '/api/operators'],
      ['GET', '/api/users']
    ] as const) {
      const payload = method === 'POST' ? { ...PIERO, email: 'intruso@example.org' } : undefined
      t.equal((await app.inject({ method, url, payload })).statusCode, 401)
      t.equal(
        (await app.inject({ method, url, payload, headers: { 'x-api-key': API_KEY } })).statusCode,
        403,
        'the server key'
      )
      t.equal((await as(app, operator, method, url, payload)).statusCode, 403, 'an operator')
    }
    t.equal((await as(app, await token({ service: true }), 'GET', '/api/users')).statusCode, 200, 'the service key')
  })

  t.test('the client’s configuration is public, and its key gives access to nothing', async (t) => {
    const { statusCode, json } = await app.inject('/api/config')
    t.equal(statusCode, 200)
    const { backendUrl, backendKey } = json()
    t.same(Object.keys(json()).sort(), ['backendKey', 'backendUrl'])
    t.equal(backendUrl, 'https://locanda.example')
    t.match(headerOf(backendKey), { alg: 'HS256' })
    t.match(claimsOf(backendKey), { role: 'anon', iss: 'https://locanda.example/auth/v1' })
    t.equal((await app.inject('/api/config')).json().backendKey, backendKey, 'it is always the same')
    for (const headers of [bearer(backendKey), { 'x-api-key': backendKey }, { apikey: backendKey }]) {
      t.equal(await isLetIn(app, headers as Record<string, string>), 401)
    }
    const { access_token: person } = await signIn(app, 'anna', 'operator')
    t.equal(
      (await app.inject({ url: '/auth/v1/user', headers: { ...bearer(person), apikey: backendKey } })).statusCode,
      200,
      "clients send it beside the person's token"
    )
  })
})

t.test('the lists of operators and users', async (t) => {
  const { app, token } = await build(t)
  const admin = await token({ name: 'anna', role: 'admin' })
  const account = async (name: string, app_metadata: Record<string, unknown>, user_metadata = {}) =>
    await app.db.transaction(
      async (tx) => await createUser(tx, { email: `${name}@example.org`, confirmed: true, app_metadata, user_metadata })
    )
  await account('operatrice', { role: 'operator' })
  await account('seconda', { roles: ['admin'] })
  await account('in.attesa', { role: 'pending' })
  await account('senza.ruolo', {})
  await account('furbo', {}, { role: 'admin', roles: ['admin'] })
  await account('contabile', { role: 'accountant' })
  const { id: gone } = await account('andata', { role: 'operator' })
  t.equal(
    (await as(app, admin, 'DELETE', `/auth/v1/admin/users/${gone}`, { should_soft_delete: true })).statusCode,
    200
  )

  t.test(
    'the list of operators has administrators and operators, newest first, as the provider writes them',
    async (t) => {
      const { statusCode, json } = await as(app, admin, 'GET', '/api/operators')
      t.equal(statusCode, 200)
      t.same(
        json().map(({ email }: { email: string }) => email),
        ['seconda@example.org', 'operatrice@example.org', 'anna@example.org']
      )
      for (const user of json()) {
        t.match(user, {
          id: String,
          aud: 'authenticated',
          app_metadata: Object,
          user_metadata: Object,
          identities: [{ provider: 'email' }],
          created_at: String
        })
      }
    }
  )

  t.test('the list of users has all users, with four fields', async (t) => {
    const { statusCode, json } = await as(app, admin, 'GET', '/api/users')
    t.equal(statusCode, 200)
    t.same(
      json().map(({ email }: { email: string }) => email.split('@')[0]),
      ['contabile', 'furbo', 'senza.ruolo', 'in.attesa', 'seconda', 'operatrice', 'anna']
    )
    for (const user of json()) t.same(Object.keys(user).sort(), ['created_at', 'email', 'id', 'user_metadata'])
    t.same(json()[1].user_metadata, { role: 'admin', roles: ['admin'] })
    t.match(json()[0].created_at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  })

  t.test('who is an operator is the same for PostgreSQL and for the program, whatever the metadata are', async (t) => {
    const any: Record<string, unknown>[] = [
      { role: 'Admin' }, { role: ['admin'] }, { role: { admin: true } }, { role: null }, { role: 1 }, { role: 'admin' },
      { roles: 'admin' }, { roles: [['admin']] }, { roles: { admin: 'admin' } }, { roles: ['operator'] }, { roles: [] },
      { roles: ['operator', 'admin', null] }, { role: 'operator', roles: null }, { role: '"operator"' }, { a: 'admin' }
    ]
    for (const [n, app_metadata] of any.entries()) await account(`prova-${n}`, app_metadata)
    const listed = (await as(app, admin, 'GET', '/api/operators')).json<{ email: string }[]>().map(({ email }) => email)
    t.same(
      listed.filter((email) => email.startsWith('prova-')).toSorted(),
      any.flatMap((metadata, n) => isStaff(metadata) ? [`prova-${n}@example.org`] : []).toSorted()
    )
  })

  t.test('with 70,000 users the lists hold all of them', async (t) => {
    await app.sql.begin(async (tx) => {
      // As long as a busy machine takes for so many.
      await tx`set local statement_timeout = 0`
      await tx`delete from users where email <> 'anna@example.org'`
      await tx`insert into users (email, created_at) select 'u' || n || '@example.org', '2020-01-01'::timestamptz +
        n / 3 * interval '1 second' from generate_series(1, 70000) n`
      await tx`insert into identities (user_id, provider, provider_id, identity_data)
        select id, 'email', id, '{}' from users where email like 'u%'`
      // What autovacuum does on a server: without it each batch is sorted anew.
      await tx`analyze users, identities`
    })
    const all = (await as(app, admin, 'GET', '/api/users')).json<{ id: string, created_at: string }[]>()
    t.equal(new Set(all.map(({ id }) => id)).size, 70_001)
    const places = all.map(({ id, created_at }) => `${created_at} ${id}`)
    t.ok(places.every((place, n) => n === 0 || place < places[n - 1]!), 'newest first')
    const count = countStatements(app)
    const statements = await count(async () => {
      t.match((await as(app, admin, 'GET', '/api/operators')).json(), [{ email: 'anna@example.org' }])
    })
    t.ok(statements < 20, `those who do not work here are not read: ${statements} statements`)
    const page = await as(app, admin, 'GET', '/auth/v1/admin/users?page=70&per_page=1000')
    t.equal(page.headers['x-total-count'], '70001')
    t.equal(page.json().users.length, 1000)
    t.equal(page.json().users[0].identities.length, 1)
  })
})
