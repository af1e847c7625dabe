import sharp from 'sharp'
import t from 'tap'
import type { ErrorBody } from '#schemas/common.ts'
import { createUser } from '#src/identity/people/users.ts'
import { fieldsAtFault } from '#test/bookings/samples.ts'
import { build, signIn } from '#test/helper.ts'
import { form, FORM_TYPE, type Part } from '#test/identity/form.ts'
import { callAs, bearer, isLetIn } from '#test/identity/requests.ts'
import { claimsOf, headerOf } from '#test/identity/token-parts.ts'
import { jpeg, png, webp, withPlace } from '#test/services/images/pictures.ts'
import { countStatements } from '#test/sql/statements.ts'

const PIERO = { email: 'piero@example.org', password: 'una-frase-lunga-e-mia', name: 'Piero', surname: 'Neri' }

t.test('operators', async (t) => {
  const { app, token, logs } = await build(t, { PUBLIC_URL: 'https://locanda.example/' })
  const admin = await token({ name: 'anna', role: 'admin' })
  const create = async (body: object) => await callAs(app, admin, 'POST', '/api/operators', { ...PIERO, ...body })
  const people = async () => Number((await app.sql`select count(*) from users`)[0]?.count)

  t.test('a new operator is returned in the provider\'s form of a user, and can sign in at once', async (t) => {
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
    const signedIn = await app.inject({
      method: 'POST',
      url: '/auth/v1/token?grant_type=password',
      payload: { email: PIERO.email, password: PIERO.password }
    })
    t.equal(signedIn.statusCode, 200)
    const { access_token: his } = signedIn.json()
    t.equal(await isLetIn(app, bearer(his)), 200)
    t.equal((await callAs(app, his, 'GET', '/api/users')).statusCode, 403, 'an operator is no administrator')
  })

  t.test('the audit log identifies a new operator by ids, and the log has no personal data', async (t) => {
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

  t.test('an address that is in use, in upper or lower case, is answered with a 409', async (t) => {
    const before = await people()
    for (const email of ['piero@example.org', 'PIERO@Example.ORG', 'anna@example.org']) {
      const { statusCode, json } = await create({ email })
      t.equal(statusCode, 409, email)
      t.match(json(),
        { error: 'Esiste già un account con questo indirizzo e-mail', status: 409, codice: 'EMAIL_GIA_REGISTRATA' })
    }
    t.equal(await people(), before)
  })

  t.test('an invalid field is answered with a 400 that names it, and no account is created', async (t) => {
    const before = await people()
    const wrong: [field: string, body: object][] = [
      ['password', { password: 'password' }],
      ['password', { password: 'corta' }],
      ['password', { password: 12345678 }],
      ['password', { password: undefined }],
      ['email', { email: 'piero' }],
      ['email', { email: 'piero@example.org\r\nBcc: x@example.org' }],
      ['email', { email: null }],
      ['name', { name: '' }],
      ['name', { name: 'a\u0000b' }],
      ['name', { name: ' \u00a0 ' }],
      ['surname', { surname: '   ' }],
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

  t.test('the client’s configuration is public, and its key gives access to nothing', async (t) => {
    const { statusCode, json } = await app.inject('/api/config')
    t.equal(statusCode, 200)
    const { backendUrl, backendKey } = json()
    t.same(Object.keys(json()).sort(), ['backendKey', 'backendUrl'])
    t.equal(backendUrl, 'https://locanda.example')
    t.match(headerOf(backendKey), { alg: 'HS256' })
    t.match(claimsOf(backendKey), { role: 'anon', iss: 'https://locanda.example/auth/v1' })
    t.equal((await app.inject('/api/config')).json().backendKey, backendKey, 'the key is stable')
    for (const headers of [bearer(backendKey), { 'x-api-key': backendKey }, { apikey: backendKey }]) {
      t.equal(await isLetIn(app, headers as Record<string, string>), 401)
    }
    const { access_token: person } = await signIn(app, 'anna', 'operator')
    t.equal(
      (await app.inject({ url: '/auth/v1/user', headers: { ...bearer(person), apikey: backendKey } })).statusCode,
      200,
      "clients send it with the person's token"
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
  t.equal((await callAs(app, admin, 'DELETE', `/auth/v1/admin/users/${gone}`, { should_soft_delete: true })).statusCode,
    200)

  t.test('the list of operators has administrators and operators, newest first', async (t) => {
    const { statusCode, json } = await callAs(app, admin, 'GET', '/api/operators')
    t.equal(statusCode, 200)
    t.same(json().map(({ email }: { email: string }) => email),
      ['furbo', 'senza.ruolo', 'seconda', 'operatrice', 'anna'].map((name) => `${name}@example.org`))
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
  })

  t.test('the list of users has all users, with four fields', async (t) => {
    const { statusCode, json } = await callAs(app, admin, 'GET', '/api/users')
    t.equal(statusCode, 200)
    t.same(json().map(({ email }: { email: string }) => email.split('@')[0]),
      ['contabile', 'furbo', 'senza.ruolo', 'in.attesa', 'seconda', 'operatrice', 'anna'])
    for (const user of json()) t.same(Object.keys(user).sort(), ['created_at', 'email', 'id', 'user_metadata'])
    t.same(json()[1].user_metadata, { role: 'admin', roles: ['admin'] })
    t.match(json()[0].created_at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  })

  t.test('the links between the pages of both lists visit each person exactly once', async (t) => {
    for (const path of ['/api/operators', '/api/users']) {
      const all = await callAs(app, admin, 'GET', path)
      const ids = all.json<{ id: string }[]>().map(({ id }) => id)
      t.equal(all.headers['x-total-count'], String(ids.length))
      const seen: string[] = []
      let url: string | undefined = `${path}?limit=2`
      while (url !== undefined) {
        const page = await callAs(app, admin, 'GET', url)
        t.equal(page.statusCode, 200, url)
        if (seen.length === 0) t.equal(page.headers['x-total-count'], String(ids.length))
        seen.push(...page.json<{ id: string }[]>().map(({ id }) => id))
        url = /^<([^>]+)>; rel="next"$/.exec(String(page.headers.link))?.[1]
      }
      t.same(seen, ids)
      for (const query of ['limit=0', 'limit=1001', 'limit=due', 'cursor=abc', 'pagina=2']) {
        t.equal((await callAs(app, admin, 'GET', `${path}?${query}`)).statusCode, 400, query)
      }
    }
  })

  t.test('with 70,000 users the lists are complete', async (t) => {
    await app.sql.begin(async (tx) => {
      // A busy machine needs a long time for so many.
      await tx`set local statement_timeout = 0`
      await tx`delete from users where email <> 'anna@example.org'`
      await tx`insert into users (email, created_at) select 'u' || n || '@example.org', '2020-01-01'::timestamptz +
        n / 3 * interval '1 second' from generate_series(1, 70000) n`
      await tx`insert into identities (user_id, provider, provider_id, identity_data)
        select id, 'email', id, '{}' from users where email like 'u%'`
      // On a server, autovacuum does this. Without it PostgreSQL sorts for each batch.
      await tx`analyze users, identities`
    })
    const all = (await callAs(app, admin, 'GET', '/api/users')).json<{ id: string, created_at: string }[]>()
    t.equal(new Set(all.map(({ id }) => id)).size, 70_001)
    const positions = all.map(({ id, created_at }) => `${created_at} ${id}`)
    t.ok(positions.every((position, n) => n === 0 || position < positions[n - 1]!), 'newest first')
    const count = countStatements(app)
    const statements = await count(async () => {
      t.match((await callAs(app, admin, 'GET', '/api/operators')).json(), [{ email: 'anna@example.org' }])
    })
    t.ok(statements < 20, `users without a role are not read: ${statements} statements`)
    const page = await callAs(app, admin, 'GET', '/auth/v1/admin/users?page=70&per_page=1000')
    t.equal(page.headers['x-total-count'], '70001')
    t.equal(page.json().users.length, 1000)
    t.equal(page.json().users[0].identities.length, 1)
  })
})

t.test('profile pictures', async (t) => {
  const PATH = '/api/operators/pfp'
  const { app, token } = await build(t, { PUBLIC_URL: 'https://locanda.example' })
  const picture = await jpeg(800, 400)
  const admin = await token({ name: 'capo', role: 'admin' })
  const piero = (await signIn(app, 'piero', 'operator')).user.id

  const send = (payload: Buffer, headers: Record<string, string> = {}) => app.inject({
    method: 'POST',
    url: PATH,
    payload,
    headers: { authorization: `Bearer ${admin}`, 'content-type': FORM_TYPE, ...headers }
  })
  const set = (userId: string, file: Buffer, filename = 'io.jpg') =>
    send(form([['userId', userId], ['file', file, filename]]))
  const stored = async (id: string) =>
    (await app.files.findByPrefix(app.db, 'avatars', `${id}.`)).map(({ name }) => name)

  t.test('a picture is stored, small and without metadata, and its URL is in the user\'s metadata', async (t) => {
    const response = await set(piero, picture)
    t.equal(response.statusCode, 200)
    const url = `https://locanda.example/api/storage/avatars/${piero}.jpg`
    t.same(response.json(),
      { success: true, message: 'Immagine del profilo salvata', path: `avatars/${piero}.jpg`, url, status: 200 })
    const operators = await app.inject({ url: '/api/operators', headers: { authorization: `Bearer ${admin}` } })
    const links = operators.json<{ id: string, foto_url?: string }[]>()
    t.same(links.filter(({ foto_url }) => foto_url !== undefined).map(({ id }) => id), [piero])
    const link = links.find(({ id }) => id === piero)!.foto_url!
    const shown = await app.inject(link.replace('https://locanda.example', ''))
    t.match(shown, { statusCode: 200, headers: { 'content-type': 'image/jpeg', 'content-disposition': /^inline/ } })
    const object = await app.files.find(app.db, 'avatars', `${piero}.jpg`)
    const bytes = Buffer.concat(await (await app.files.read(object!)).toArray() as Buffer[])
    t.match(await sharp(bytes).metadata(), { format: 'jpeg', width: 512, height: 256 })
    t.equal(object?.owner, piero)
    const users = await app.inject({ url: '/api/users', headers: { authorization: `Bearer ${admin}` } })
    const found = users.json<{ id: string, user_metadata: object }[]>().find(({ id }) => id === piero)
    t.same(found?.user_metadata, { name: 'piero', avatar_url: url })
    await set(piero, await withPlace('NOME-SEGRETO'))
    const next = await app.files.find(app.db, 'avatars', `${piero}.jpg`)
    t.notOk(Buffer.concat(await (await app.files.read(next!)).toArray() as Buffer[]).includes('NOME-SEGRETO'))
  })

  t.test('a new picture replaces the previous one, with any formats', async (t) => {
    for (const [file, extension] of [[await png(), 'png'], [await webp(), 'webp'], [picture, 'jpg']] as const) {
      t.equal((await set(piero, file, 'x.gif')).statusCode, 200, 'the file name does not matter')
      t.same(await stored(piero), [`${piero}.${extension}`])
    }
  })

  t.test('a missing user, or one who is not an operator, is answered with a 404', async (t) => {
    const pending = (await signIn(app, 'in-attesa', 'pending')).user.id
    for (const id of ['6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11', pending]) {
      const response = await set(id, picture)
      t.match(response.json(), { status: 404, codice: 'UTENTE_NON_TROVATO' })
    }
    t.same(await stored(pending), [])
  })

  t.test('the picture is deleted with the user, for every kind of deletion', async (t) => {
    for (const [name, soft] of [['ugo', false], ['ida', true]] as const) {
      const { user: { id } } = await signIn(app, name, 'operator')
      await set(id, picture)
      const response = await app.inject({
        method: 'DELETE',
        url: `/auth/v1/admin/users/${id}`,
        headers: { authorization: `Bearer ${admin}` },
        payload: { should_soft_delete: soft }
      })
      t.equal(response.statusCode, 200)
      t.same(await stored(id), [])
    }
    t.equal((await stored(piero)).length, 1)
  })

  t.test('every change is audited', async (t) => {
    await set(piero, picture)
    const [row] = await app.sql`
      select actor, object from audit_log where action = 'immagine_profilo' order by id desc limit 1`
    t.match(row, { actor: /^user:/, object: `user:${piero}` })
  })

  t.test('a file that is not an image is refused, and the previous picture stays', async (t) => {
    const before = await stored(piero)
    for (const file of [Buffer.from('<svg/>'), Buffer.alloc(0), picture.subarray(0, picture.length / 2)]) {
      const response = await set(piero, file)
      t.same(fieldsAtFault(response), ['file'])
    }
    t.same(await stored(piero), before)
  })

  t.test('a file over 5 MiB is answered with a 413, with or without a declared size', async (t) => {
    const large = Buffer.alloc(5 * 1024 * 1024 + 1, 1)
    t.match((await set(piero, large)).json(), { status: 413, codice: 'CONTENUTO_TROPPO_GRANDE' })
    const declared = await send(form([['userId', piero], ['file', picture, 'io.jpg']]), {
      'content-length': String(1e12)
    })
    t.equal(declared.statusCode, 413, 'before the body is read')
    t.same(fieldsAtFault(await set(piero, large.subarray(1))), ['file'], 'an image at the limit is examined')
  })

  t.test('an invalid form is answered with a 400 that names the field', async (t) => {
    const file: Part = ['file', picture, 'io.jpg']
    const user: Part = ['userId', piero]
    const cases: [string, Part[], string][] = [
      ['no user', [file], 'userId'],
      ['no file', [user], 'file'],
      ['a user that is no id', [['userId', 'x'], file], 'userId'],
      ['a text for a file', [user, ['file', 'testo']], 'file'],
      ['a file for a user', [['userId', 'x', 'x.txt']], 'userId'],
      ['a field of nobody', [user, file, ['altro', 'x']], 'altro'],
      ['two users', [user, user, file], 'userId'],
      ['two files', [user, file, file], ''],
      ['a name of the prototype', [user, ['__proto__', 'x'], file], ''],
      ['a constructor', [user, ['constructor', 'x'], file], ''],
      ['a user that is too long', [['userId', 'x'.repeat(5000)], file], 'userId'],
      ['ten thousand fields', [user, ...Array.from({ length: 10_000 }, (_, n): Part => [`f${n}`, 'x']), file], '']
    ]
    for (const [name, parts, campo] of cases) {
      const response = await send(form(parts))
      t.equal(response.statusCode, 400, name)
      t.same(response.json<ErrorBody>().dettagli?.map((each) => each.campo), [campo], name)
    }
  })
})
