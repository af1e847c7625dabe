import { createHmac, hash, randomBytes } from 'node:crypto'
import t from 'tap'
import { SESSION_COOKIE } from '#src/administration/admin-cookies.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { API_KEY, build, extraRoutes, signIn } from '#test/helper.ts'
import { exchange, listen, target } from '#test/raw.ts'
import { callAs, bearer, isLetIn } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { twoServers } from '#test/identity/two-servers.ts'
import { MARK, granted, opens } from './admin-cookies.ts'

const GRANT = '/api/admin/grant-cookie'
const HOUR_MS = 3_600_000

t.test('the cookies of the pages', async (t) => {
  const master = randomBytes(32)
  const { app, token, logs } = await build(t, { MASTER_KEY: master.toString('base64') })
  const admin = await token({ name: 'anna', role: 'admin' })
  const person = claimsOf(admin)
  const { response, value, cookie } = await granted(app, admin)

  t.test('both are limited to /ad/, Secure, SameSite=Strict and HttpOnly', async (t) => {
    t.match(response.json(), { success: true, message: String, status: 200 })
    const ends = Date.parse(response.json().expires_at) - Date.now()
    t.ok(ends > 7.9 * HOUR_MS && ends <= 8 * HOUR_MS, 'at most eight hours')
    const raw = [response.headers['set-cookie']].flat().map((text) => String(text).split('; '))
    t.same(raw.map(([pair]) => pair), ['service_admin_access=granted', `__Secure-locanda_admin=${value}`])
    for (const [, ...attributes] of raw) {
      t.same(attributes.sort(), ['HttpOnly', 'Path=/ad/', 'SameSite=Strict', 'Secure'])
    }
    t.match(value, /^[0-9a-f]{32}\.[0-9a-f]{64}$/)
    t.equal(response.headers['cache-control'], 'no-store')
  })

  t.test('the database stores a hash, the audit log actor and time, and the log neither cookie', async (t) => {
    const [row] = await app.sql`select encode(id_hash, 'hex') as id_hash, principal, user_id from admin_sessions`
    t.same(
      { ...row },
      {
        id_hash: hash('sha256', value.slice(0, 32), 'hex'),
        principal: `session:${person.session_id}`,
        user_id: person.sub
      }
    )
    const [entry] = await app.sql`select actor, object, details from audit_log where action = 'cookie_amministrazione'`
    t.same(
      { ...entry },
      {
        actor: `user:${person.sub}`,
        object: `session:${person.session_id}`,
        details: { expires_at: response.json().expires_at }
      }
    )
    t.equal(await opens(app, cookie), 200)
    t.ok(logs.length > 1)
    for (const part of value.split('.')) t.notOk(JSON.stringify([logs, entry]).includes(part))
  })

  t.test('only both cookies together open the pages, in any order and among other cookies', async (t) => {
    const own = `${SESSION_COOKIE}=${value}`
    t.equal(await opens(app, `${MARK}; ${own}`), 200)
    t.equal(await opens(app, `${own};${MARK}`), 200)
    t.equal(await opens(app, `lingua=it; ${MARK}; x=y=z; ${own}; altro`), 200)
    for (const wrong of [undefined, '', MARK, own]) t.equal(await opens(app, wrong), 401, wrong ?? 'none')
  })

  t.test('any other combination is refused, with an error in JSON', async (t) => {
    const [id = '', mac = ''] = value.split('.')
    const signed = (id: string, key: Buffer) => `${id}.${createHmac('sha256', key).update(id).digest('hex')}`
    const turned = (hex: string) => (hex[0] === '0' ? '1' : '0') + hex.slice(1)
    const own = (text: string) => `${MARK}; ${SESSION_COOKIE}=${text}`
    const wrong: Record<string, string> = {
      'another mac': own(`${id}.${turned(mac)}`),
      'another id': own(`${turned(id)}.${mac}`),
      'an unknown id, rightly signed': own(
        signed(randomBytes(16).toString('hex'), createKeys(master).derive('admin-cookie'))
      ),
      "another installation's secret": own(signed(id, createKeys(randomBytes(32)).derive('admin-cookie'))),
      'another of our secrets': own(signed(id, createKeys(master).derive('api-key'))),
      'the master key itself': own(signed(id, master)),
      'no secret': own(signed(id, Buffer.alloc(0))),
      'the id alone': own(id),
      'an empty mac': own(`${id}.`),
      'a short mac': own(`${id}.${mac.slice(0, 32)}`),
      'more at the end': own(`${value}0`),
      'upper case': own(value.toUpperCase()),
      quoted: own(`"${value}"`),
      encoded: own(value.replace('.', '%2e')),
      'the hash in place of the id': own(
        signed(hash('sha256', id, 'hex').slice(0, 32), createKeys(master).derive('admin-cookie'))
      ),
      'another mark': `service_admin_access=admin; ${SESSION_COOKIE}=${value}`,
      'a mark in upper case': `service_admin_access=GRANTED; ${SESSION_COOKIE}=${value}`,
      'the names in another case': `Service_Admin_Access=granted; ${SESSION_COOKIE.toLowerCase()}=${value}`,
      "the session's name without its prefix": `${MARK}; locanda_admin=${value}`,
      'two marks': `${MARK}; ${cookie}`,
      'two different marks': `service_admin_access=; ${cookie}`,
      'two sessions, the right one first': `${cookie}; ${SESSION_COOKIE}=x`,
      'two sessions, the right one last': `${SESSION_COOKIE}=x; ${cookie}`,
      'the session twice': `${cookie}; ${SESSION_COOKIE}=${value}`,
      'a second one with a blank in its name': `${cookie}; ${SESSION_COOKIE} =x`,
      '8 kB': `${cookie}; altro=${'x'.repeat(8192)}`,
      '8 kB of a session': own('0'.repeat(8192))
    }
    for (const [name, cookie] of Object.entries(wrong)) {
      const refused = await app.inject({ url: '/ad/', headers: { cookie } })
      t.equal(refused.statusCode, 401, name)
      t.match(refused.headers, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
      t.same(refused.json(), {
        error: 'Autenticazione mancante o non valida',
        status: 401,
        codice: 'NON_AUTENTICATO',
        requestId: refused.headers['x-request-id']
      })
    }
    t.equal(await opens(app, cookie), 200, 'the right ones still open')
  })

  t.test('API credentials do not open the pages, and the cookies open only the pages', async (t) => {
    for (const headers of [bearer(admin), bearer(await token({ service: true })), { 'x-api-key': API_KEY }]) {
      t.equal((await app.inject({ url: '/ad/', headers })).statusCode, 401)
    }
    for (const url of ['/api/v1/paesi', '/api/users', '/auth/v1/user']) {
      t.equal((await app.inject({ url, headers: { cookie } })).statusCode, 401, url)
    }
    t.equal((await app.inject({ method: 'POST', url: GRANT, headers: { cookie } })).statusCode, 401)
  })

  t.test('only administrators receive the cookies', async (t) => {
    const key = async (scopes: string) => ({
      'x-api-key': (await callAs(app, admin, 'GET', `/api/cli/auth/key?scopes=${scopes}`)).json().apiKey as string
    })
    const ask = async (headers: Record<string, string>) =>
      (await app.inject({ method: 'POST', url: GRANT, headers })).statusCode
    t.equal(await ask({}), 401)
    t.equal(await ask({ 'x-api-key': API_KEY }), 403, 'the server key')
    t.equal(await ask(bearer(await token({ name: 'piero' }))), 403, 'as an operator')
    t.equal(await ask(bearer(await token({ name: 'nuova', role: 'pending' }))), 403, 'a user without a role')
    t.equal(await ask(await key('lettura,scrittura,invio')), 403, 'a key without the administration scope')
    t.equal(await ask(bearer(await token({ service: true }))), 200, 'the service key')
    t.equal(await ask(await key('amministrazione')), 200, 'a key with the administration scope')
    t.equal(await opens(app, (await granted(app, bearer(await token({ service: true })))).cookie), 200)
    t.equal(await opens(app, (await granted(app, await key('amministrazione'))).cookie), 200)
  })

  t.test('the body is optional and must be empty', async (t) => {
    const ask = async (payload: string | undefined, type?: string) =>
      (
        await app.inject({
          method: 'POST',
          url: GRANT,
          headers: { ...bearer(admin), ...(type === undefined ? {} : { 'content-type': type }) },
          ...(payload === undefined ? {} : { payload })
        })
      ).statusCode
    t.equal(await ask(undefined), 200)
    t.equal(await ask('', 'application/json'), 200)
    t.equal(await ask('{}', 'application/json'), 200)
    t.equal(await ask('{"role":"admin"}', 'application/json'), 400)
  })

  t.test('cookies in two headers count like cookies in one', async (t) => {
    const port = await listen(app)
    const { cookie } = await granted(app, admin)
    const twice = (first: string, second: string) =>
      exchange(port, target('GET', '/ad/', { cookie: first }).replace('\r\n\r\n', `\r\ncookie: ${second}\r\n\r\n`))
    t.equal((await twice(cookie, 'x=y')).status, 200)
    t.equal((await twice(cookie, `${SESSION_COOKIE}=x`)).status, 401)
    t.equal((await twice(MARK, cookie)).status, 401)
  })
})

t.test('the session of the cookies', async (t) => {
  const [{ app, token }, { app: other }] = await twoServers(t)

  t.test('expires after 15 minutes without a request. Each request extends it, up to an absolute end', async (t) => {
    const { cookie, response } = await granted(app, await token({ name: 'anna', role: 'admin' }))
    const age = (column: string, by: string) =>
      app.sql.unsafe(`update admin_sessions set ${column} = now() - interval '${by}'`)
    await age('last_seen_at', '14 minutes 50 seconds')
    t.equal(await opens(app, cookie), 200)
    const [used] =
      await app.sql`select extract(epoch from now() - last_seen_at) < 60 as now, expires_at from admin_sessions`
    t.equal(used!.now, true, 'use restarts the timeout')
    t.equal(new Date(used!.expires_at).toISOString(), response.json().expires_at, 'the absolute end does not move')
    await age('last_seen_at', '15 minutes')
    t.equal(await opens(app, cookie), 401)
    t.equal(await opens(app, cookie), 401, 'a request does not restore an expired session')
    await app.sql`update admin_sessions set last_seen_at = now()`
    t.equal(await opens(app, cookie), 200)
    await age('expires_at', '0 seconds')
    t.equal(await opens(app, cookie), 401, 'at its absolute end')
    t.equal((await app.sql`select from admin_sessions`).count, 1)
    await granted(app, await token({ name: 'anna', role: 'admin' }))
    t.equal((await app.sql`select from admin_sessions`).count, 1, 'the next session deletes expired ones')
  })

  t.test('is valid on all servers of the installation', async (t) => {
    const { cookie } = await granted(app, await token({ name: 'anna', role: 'admin' }))
    t.equal(await opens(other, cookie), 200)
    await app.sql`delete from admin_sessions`
    t.equal(await opens(other, cookie), 401, 'revoked')
    t.equal(await opens(app, cookie), 401)
  })

  t.test('opens no page when the person is no longer an administrator', async (t) => {
    const service = await token({ service: true })
    const changes: Record<string, (id: string) => Promise<{ statusCode: number }>> = {
      demoted: (id) => callAs(app, service, 'PUT', `/auth/v1/admin/users/${id}`,
        { app_metadata: { role: 'operator' } }),
      banned: (id) => callAs(app, service, 'PUT', `/auth/v1/admin/users/${id}`, { ban_duration: '1h' }),
      deleted: (id) => callAs(app, service, 'DELETE', `/auth/v1/admin/users/${id}`, {}),
      'softly deleted': (id) => callAs(app, service, 'DELETE', `/auth/v1/admin/users/${id}`,
        { should_soft_delete: true })
    }
    for (const [name, change] of Object.entries(changes)) {
      const signedIn = await signIn(app, name.replace(' ', '.'), 'admin')
      const { cookie } = await granted(app, signedIn.access_token)
      t.equal(await opens(app, cookie), 200)
      t.equal((await change(signedIn.user.id)).statusCode, 200)
      t.equal(await opens(app, cookie), 403, name)
      t.equal(await opens(other, cookie), 403, `${name}, elsewhere`)
    }
  })

  t.test('ends with the session or the key to which it was granted', async (t) => {
    const { access_token: first } = await signIn(app, 'carla', 'admin')
    const { access_token: second } = await signIn(app, 'carla', 'admin')
    const [mine, theirs] = [await granted(app, first), await granted(app, second)]
    t.equal((await callAs(app, first, 'POST', '/auth/v1/logout?scope=local')).statusCode, 204)
    t.equal(await opens(app, mine.cookie), 403, 'signed out')
    t.equal(await opens(app, theirs.cookie), 200, 'another login of the same person')

    const minted = (await callAs(app, second, 'GET', '/api/cli/auth/key')).json() as { apiKey: string, id: string }
    const { cookie } = await granted(app, { 'x-api-key': minted.apiKey })
    t.equal(await opens(app, cookie), 200)
    t.equal((await callAs(app, second, 'DELETE', `/api/v1/keys/${minted.id}`)).statusCode, 200)
    t.equal(await opens(app, cookie), 403, 'the key is revoked')

    t.equal((await callAs(app, second, 'POST', '/api/sessions/revoke-all')).statusCode, 200)
    t.equal(await opens(app, theirs.cookie), 403, 'all logins have ended')
    t.equal(await isLetIn(app, bearer(second)), 401)
  })
})

t.test('the pages under /ad/', async (t) => {
  const { app, token } = await build(t)
  const { cookie } = await granted(app, await token({ name: 'anna', role: 'admin' }))

  t.test('other methods are refused, with the cookies and from any site', async (t) => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
      for (const url of ['/ad/', '/ad/utenti']) {
        for (const headers of [
          {},
          { cookie },
          { cookie, origin: 'https://altrove.example', 'sec-fetch-site': 'cross-site' }
        ]) {
          const { statusCode, headers: { allow } } = await app.inject({ method, url, headers })
          t.same([statusCode, allow], [405, 'GET, HEAD'], `${method} ${url}`)
        }
      }
    }
  })

  t.test('without the cookies a caller cannot find out which pages exist', async (t) => {
    for (const url of ['/ad/', '/ad/x', '/ad/x/y', '/ad/?x=1', '/%61d/', '/ad/%78', '/ad//']) {
      t.equal(await opens(app, undefined, url), 401, url)
      t.equal((await app.inject({ method: 'HEAD', url })).statusCode, 401, `HEAD ${url}`)
    }
    t.equal(await opens(app, cookie, '/ad/x'), 404)
    t.equal(await opens(app, cookie, '/ad'), 404, 'a path to which browsers send no cookies')
    t.equal((await app.inject({ method: 'HEAD', url: '/ad/', headers: { cookie } })).statusCode, 200)
  })
})

t.test('outside the guarded scope, a route that requires the cookies stops the start', async (t) => {
  const start = build(
    t,
    {},
    extraRoutes((app) => {
      app.get('/prova', { config: { access: 'cookie' } }, async () => ({}))
    })
  )
  await t.rejects(start, { message: 'Route GET /prova has no cookieGuard that checks its cookie' })
})
