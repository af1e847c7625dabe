import { AsyncLocalStorage } from 'node:async_hooks'
import { createPublicKey, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { eq } from 'drizzle-orm'
import t from 'tap'
import { seen_sessions } from '#drizzle/tables/identity.ts'
import { Closed } from '#schemas/common.ts'
import { API_KEY, build, extraRoutes } from '#test/helper.ts'
import { compactText, ecdsa, hmac, rsa, type Signer, workshop, type Workshop } from '#test/identity/guards/forge.ts'
import { forgedTokens } from '#test/identity/guards/forged-tokens.ts'
import { bearer } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { fakeProvider, json } from './fake-provider.ts'
import {
  type Behaviour, ec, failing, FAILURES, json as jsonResponse, jwk, keyProvider, otherEc, pem, rsa as rsaPair, set
} from './key-sets.ts'
import { PATIENT, startProvider } from './provider-server.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const UNREACHABLE = { code: 'PROVIDER_NON_RAGGIUNGIBILE', statusCode: 503 }

t.test('only keys for verifying signatures are used, and only the public part of a private key', async (t) => {
  const good = { kid: 'buona' }
  const refused: unknown[] = [
    null,
    7,
    'chiave',
    [],
    {},
    { kid: 'x' },
    { kty: 'RSA', kid: 'x' },
    { kty: 'RSA', kid: 'x', n: 5, e: {} },
    { kty: 'EC', crv: 'P-256', kid: 'x' },
    { kty: 'oct', kid: 'x', k: 'c2VncmV0bw' },
    jwk(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey, { kid: 'x' }),
    jwk(generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey, { kid: 'x' }),
    jwk(generateKeyPairSync('ed25519').publicKey, { kid: 'x' }),
    jwk(ec.publicKey, { kid: 'x', use: 'enc' }),
    jwk(ec.publicKey, { kid: 'x', use: null }),
    jwk(ec.publicKey, { kid: 'x', alg: 'RS256' }),
    jwk(rsaPair.publicKey, { kid: 'x', alg: 'ES256' }),
    jwk(rsaPair.publicKey, { kid: 'x', alg: 'HS256' }),
    jwk(rsaPair.publicKey, { kid: 'x', alg: 'PS256' }),
    jwk(rsaPair.publicKey, { kid: 'x', alg: 'none' }),
    jwk(ec.publicKey, { kid: 'x', y: jwk(otherEc.publicKey).y }),
    jwk(ec.publicKey),
    jwk(ec.publicKey, { kid: 7 }),
    jwk(ec.publicKey, { kid: '' })
  ]
  const { key, seen, clock } = await keyProvider(t, {
    keys: [...refused, jwk(ec.privateKey, { ...good, alg: 'ES256' })]
  })
  t.equal(createPublicKey((await key('buona'))!.pem).type, 'public')
  t.notMatch((await key('buona'))!.pem, /PRIVATE/)
  clock.ms += 30 * SECOND
  for (const kid of ['x', '7', '']) t.equal(await key(kid), undefined, kid)
  t.equal(seen.fetches, 2)
})

t.test('a hundred unknown ids, half of them in parallel, cause one fetch, and known keys stay accepted', async (t) => {
  const { key, pem: pemOf, seen } = await keyProvider(t, set('a'))
  t.same(await Promise.all(Array.from({ length: 50 }, (_, n) => key(`inventato ${n}`))), Array(50).fill(undefined))
  t.equal(seen.fetches, 1)
  for (let n = 50; n < 100; n++) t.equal(await key(`inventato ${n}`), undefined)
  t.equal(seen.fetches, 1)
  t.equal(await pemOf('a'), pem(ec.publicKey))
  t.equal(seen.fetches, 1)
})

t.test('fifty unknown ids cause one fetch even if the provider fails, and all get 503', async (t) => {
  const { key, seen, clock, warnings, answer } = await keyProvider(t, failing)
  await Promise.all(Array.from({ length: 50 }, (_, n) => t.rejects(key(`k${n}`), UNREACHABLE)))
  clock.ms += 29_999
  await t.rejects(key('a'), UNREACHABLE)
  t.equal(seen.fetches, 1)
  answer(set('a'))
  clock.ms++
  t.equal((await key('a'))?.kid, 'a')
  t.equal(seen.fetches, 2)
  t.same(warnings, [{ reason: 'status 500' }])
})

t.test('a new key is accepted within thirty seconds, even if a caller used it too early', async (t) => {
  const { key, pem: pemOf, seen, clock, answer } = await keyProvider(t, set('vecchia'))
  await key('vecchia')
  answer(set('vecchia', 'nuova'))
  clock.ms += 29_999
  t.equal(await key('nuova'), undefined)
  t.equal(seen.fetches, 1)
  clock.ms++
  t.equal(await pemOf('nuova'), pem(ec.publicKey))
  t.equal(seen.fetches, 2)
})

t.test('after ten minutes the set is fetched in the background, and then removed keys are refused', async (t) => {
  const { pem: pemOf, key, seen, clock, settled, answer } = await keyProvider(t, set('resta', 'cambia', 'via'))
  await key('resta')
  clock.ms += 10 * MINUTE - 1
  t.equal(await pemOf('via'), pem(ec.publicKey))
  t.equal(seen.fetches, 1)

  const asked = Promise.withResolvers<ServerResponse>()
  answer(asked.resolve)
  clock.ms++
  for (const kid of ['via', 'cambia', 'resta']) {
    t.equal(await pemOf(kid), pem(ec.publicKey), 'answered before the provider responds')
  }
  jsonResponse({ keys: [...set('resta').keys, jwk(otherEc.publicKey, { kid: 'cambia' })] })(await asked.promise)
  await settled()
  t.equal(seen.fetches, 2)
  t.equal(await pemOf('via'), undefined)
  t.equal(await pemOf('cambia'), pem(otherEc.publicKey))
  t.equal(await pemOf('resta'), pem(ec.publicKey))
  t.equal(seen.fetches, 2)
})

t.test('known keys are used for a day while the provider fails, and then they are refused', async (t) => {
  const { key, pem: pemOf, seen, clock, settled, answer } = await keyProvider(t, set('a'))
  await key('a')
  answer(failing)
  clock.ms += 10 * MINUTE
  for (let n = 0; n < 5; n++) t.equal(await pemOf('a'), pem(ec.publicKey))
  await settled()
  t.equal(seen.fetches, 2)
  clock.ms += 30 * SECOND
  t.equal(await pemOf('a'), pem(ec.publicKey))
  t.equal(await key('ignota'), undefined, 'an unknown key is refused, and no outage')
  t.equal(seen.fetches, 3)

  clock.ms = 1 + 24 * HOUR - 1
  t.equal(await pemOf('a'), pem(ec.publicKey))
  await settled()
  t.equal(seen.fetches, 4)
  clock.ms = 1 + 24 * HOUR
  await t.rejects(key('a'), UNREACHABLE)
  await t.rejects(key('ignota'), UNREACHABLE)
  t.equal(seen.fetches, 4)

  answer(set('a'))
  clock.ms += 30 * SECOND
  t.equal(await pemOf('a'), pem(ec.publicKey))
  t.equal(seen.fetches, 5)
})

for (const [name, behaviour, reason] of FAILURES) {
  t.test(`after a response that is not a key set, the last set is still used: ${name}`, async (t) => {
    const { key, seen, clock, warnings, settled, answer } = await keyProvider(t, behaviour)
    await t.rejects(key('a'), UNREACHABLE)
    t.same(warnings, [{ reason }])
    t.equal(seen.fetches, 1)
    t.notOk(seen.paths.has('/altrove'))

    answer(set('a'))
    clock.ms += 30 * SECOND
    t.equal((await key('a'))?.kid, 'a')
    answer(behaviour)
    clock.ms += 10 * MINUTE
    await key('a')
    await settled()
    t.equal(seen.fetches, 3)
    t.equal((await key('a'))?.kid, 'a')
  })
}

t.test('a provider that hangs before or within its response times out, and its connection is closed', async (t) => {
  const hanging: Behaviour[] = [() => {}, (response) => response.writeHead(200).write('{"keys":[')]
  for (const hang of hanging) {
    const dropped = Promise.withResolvers<void>()
    // The timeout starts when the request has arrived, so the machine's speed does not matter.
    const limit = new AbortController()
    t.intercept(AbortSignal, 'timeout', { value: () => limit.signal })
    const { key, warnings } = await keyProvider(t, (response) => {
      response.on('close', dropped.resolve)
      hang(response)
      limit.abort(new DOMException('the time is up', 'TimeoutError'))
    })
    await t.rejects(key('a'), UNREACHABLE)
    await dropped.promise
    t.same(warnings, [{ reason: 'TimeoutError' }])
  }
})

const SOMEWHERE = '/api/v1/paesi'
const ADMINS = '/prova/admin'
const SECRET = 'un-segreto-condiviso-di-almeno-32-byte'
/** The time in seconds. */
const now = () => Math.floor(Date.now() / 1000)

t.test('tokens of an external provider', async (t) => {
  const idp = await startProvider(t)
  const shop = await workshop(idp.twin.app, idp.master)
  const started = async (environ: Record<string, string | undefined> = {}) => {
    const { app } = await build(t, { ...idp.environ, ...environ }, extraRoutes((app) => {
      app.get(ADMINS, { config: { access: 'admin' }, schema: { response: { 200: Closed({}) } } }, async () => ({}))
    }), PATIENT)
    const status = async (token: string, url = SOMEWHERE, more = {}) =>
      (await app.inject({ url, headers: { ...bearer(token), ...more } })).statusCode
    // An overloaded provider may refuse the first fetch of its keys (503). The server asks again after 30 seconds.
    while (await status(shop.victim.access_token) === 503) await sleep(1000)
    return { app, status }
  }
  const bare = await started()
  const { app, status } = bare
  const withSecret = await started({ IDP_JWT_SECRET: SECRET })

  t.test('a person who signs in at the provider is the same person here', async (t) => {
    const { id } = (await idp.admin('POST', '/admin/users', {
      email: 'anna@example.org',
      password: 'una-frase-lunga-e-mia',
      email_confirm: true,
      app_metadata: { role: 'operator' }
    })) as { id: string }
    const { access_token: token } = await idp.signIn('anna@example.org', 'una-frase-lunga-e-mia')
    t.equal(await status(token), 200)
    t.equal(await status(token), 200, 'remembered')
    const { apiKey } = (await app.inject({ url: '/api/cli/auth/key', headers: bearer(token) })).json()
    t.match((await app.inject({ url: '/api/v1/keys', headers: bearer(token) })).json(), { data: [{ user_id: id }] })
    t.equal(
      (await app.inject({ url: '/api/v1/keys', headers: { ...bearer(token), 'x-api-key': apiKey } })).statusCode,
      200,
      'with a key of the same person'
    )
    t.equal(await status(shop.victim.access_token, SOMEWHERE, { 'x-api-key': apiKey }), 401, "another user's token")
  })

  t.test('with an external provider the endpoints of the embedded one do not exist', async (t) => {
    for (const [method, url] of [
      ['GET', '/auth/v1/.well-known/jwks.json'],
      ['GET', '/auth/v1/user'],
      ['POST', '/auth/v1/token?grant_type=password']
    ] as const) {
      t.equal((await app.inject({ method, url, headers: bearer(idp.serviceKey) })).statusCode, 404, url)
    }
    t.throws(() => app.identity.signer)
  })

  t.test('forged tokens are refused, with public keys only and with a shared secret', async (t) => {
    // Only the provider knows which sessions exist.
    const forged = (from: Workshop) =>
      Object.entries(forgedTokens(from, idp.master)).filter(([name]) => name !== 'a session that never was')
    const secret = Buffer.from(SECRET)
    const withOurs: Workshop = {
      ...shop, secret, machine: (parts, signer = hmac(secret)) => shop.machine(parts, signer)
    }
    const lists = [[bare, forged(shop)], [withSecret, forged(shop)], [withSecret, forged(withOurs)]] as const
    // Rotates, so that each kind of token is sent in each of these ways.
    const ways = [
      ['alone', SOMEWHERE, {}],
      ['to an administrator’s route', ADMINS, {}],
      ['with the API key', SOMEWHERE, { 'x-api-key': API_KEY }]
    ] as const
    for (const [l, [server, tokens]] of lists.entries()) {
      t.ok(tokens.length > 80)
      for (const token of [shop.victim.access_token, shop.other.access_token, shop.person()]) {
        t.equal(await server.status(token), 200)
      }
      for (const [n, [name, token]] of tokens.entries()) {
        const [way, url, headers] = ways[(n + l) % ways.length]!
        t.equal(await server.status(token, url, headers), 401, `${name}, ${way}`)
      }
    }
  })

  t.test('no public key, in any encoding, is accepted as a secret', async (t) => {
    const jwk = createPublicKey(shop.publicPem).export({ format: 'jwk' })
    const der = createPublicKey(shop.publicPem).export({ type: 'spki', format: 'der' })
    for (const key of [
      shop.publicPem, shop.publicPem.trim(), `${shop.publicPem}\n`, JSON.stringify(jwk), der, String(jwk.x),
      Buffer.from(String(jwk.x), 'base64url')
    ]) {
      for (const kid of [shop.kid, undefined]) {
        const person = shop.person({ header: { alg: 'HS256', kid } }, hmac(key as Buffer))
        const machine = shop.machine({ header: { kid } }, hmac(key as Buffer))
        for (const token of [person, machine]) {
          for (const each of [status, withSecret.status]) t.equal(await each(token), 401)
        }
      }
    }
  })

  t.test('a token issued more than a day ago, or minutes in the future, is refused', async (t) => {
    const issued = async (seconds: number) =>
      await status(shop.person({ claims: { iat: now() + seconds, exp: now() + 7 * 86_400 } }))
    t.equal(await issued(-24 * 3600 - 1), 401)
    t.equal(await issued(-24 * 3600 + 60), 200)
    t.equal(await issued(30), 200, 'a clock ahead')
    t.equal(await issued(300), 401)
    t.equal(await status(shop.person({ claims: { iat: 4e9, exp: 5e9 } })), 401)
    const endless = shop.person({ claims: { exp: 9e99, session_id: randomUUID() } })
    t.equal(await status(endless), 200)
    t.equal((await app.inject({ url: '/api/sessions', headers: bearer(endless) })).statusCode, 200)
    const [row] = await app.db.select().from(seen_sessions).where(eq(seen_sessions.id, claimsOf(endless).session_id))
    t.equal(row?.expires_at.getTime(), (Number(claimsOf(endless).iat) + 24 * 3600) * 1000, 'but only for a day')
  })

  t.test('HS256 is accepted only with the shared secret, and only when one is set', async (t) => {
    const person = (key: string, claims = {}) =>
      shop.person(
        { header: { alg: 'HS256', kid: undefined }, claims: { session_id: randomUUID(), ...claims } },
        hmac(Buffer.from(key))
      )
    t.equal(await withSecret.status(person(SECRET)), 200)
    t.equal(await withSecret.status(person(SECRET, { iss: 'https://altrove.example/auth/v1' })), 401)
    t.equal(await withSecret.status(person(SECRET, { aud: 'anon' })), 401)
    t.equal(await withSecret.status(person(SECRET, { exp: now() - 1 })), 401)
    t.equal(await withSecret.status(person(`${SECRET}x`)), 401)
    t.equal(await withSecret.status(person('')), 401)
    t.equal(await status(person(SECRET)), 401)
    t.equal(await status(person('undefined')), 401)
    t.equal(await withSecret.status(shop.person({ header: { alg: 'ES256' } }, hmac(Buffer.from(SECRET)))), 401)
    t.equal(await withSecret.status(shop.victim.access_token), 200, 'besides ES256')
  })

  t.test('the service key, plain or signed, has administrator rights, and the anonymous key is refused', async (t) => {
    const signed = (claims: Record<string, unknown>) => shop.machine({ claims }, hmac(Buffer.from(SECRET)))
    t.equal(await status(idp.serviceKey, ADMINS), 200)
    t.equal(await status(`${idp.serviceKey}x`, ADMINS), 401)
    t.equal(await status(idp.serviceKey.slice(0, -1), ADMINS), 401)
    t.equal(await status(idp.anonKey), 401)
    t.equal(await status(signed({ role: 'service_role' }), ADMINS), 401, 'without a secret there is no signature')
    for (const role of ['service_role', 'supabase_admin']) {
      t.equal(await withSecret.status(signed({ role }), ADMINS), 200, role)
    }
    t.equal(await withSecret.status(signed({ iss: 'supabase', iat: undefined }), ADMINS), 200,
      'as Supabase hands them out')
    for (const claims of [
      { role: 'anon' }, { role: 'authenticated' }, { role: ['service_role'] }, { sub: randomUUID() },
      { exp: now() - 1 }, { exp: undefined }, { iss: 'altrove' }
    ]) {
      t.equal(await withSecret.status(signed(claims), ADMINS), 401, JSON.stringify(claims))
    }
    const opaque = await started({
      IDP_SERVICE_KEY: 'sb_secret_0123456789',
      IDP_ANON_KEY: 'sb_publishable_0123456789'
    })
    t.equal(await opaque.status('sb_secret_0123456789', ADMINS), 200)
    t.equal(await opaque.status('sb_publishable_0123456789'), 401)
    const without = await started({ IDP_SERVICE_KEY: undefined })
    t.equal(await without.status(idp.serviceKey), 401, 'a key unknown to this server')
  })

  t.test('an anonymous account is refused, even if its token claims the role of an administrator', async (t) => {
    const claims = { session_id: randomUUID(), email: '', app_metadata: { role: 'admin' } }
    t.equal(await status(shop.person({ claims: { ...claims, is_anonymous: true } })), 401)
    t.equal(await status(shop.person({ claims: { ...claims, is_anonymous: false } })), 200)
  })

  t.test('a session id is valid only for one person', async (t) => {
    const { sub, session_id } = claimsOf(shop.victim.access_token)
    t.equal(await status(shop.person({ claims: { sub, session_id } })), 200)
    await app.identity.waitForListeners()
    t.equal(await status(shop.person({ claims: { sub: randomUUID(), session_id } })), 401)
  })
})

t.test('tokens of a provider with several keys', async (t) => {
  const keys = (...kids: string[]) =>
    json(200, {
      keys: [jwk(rsaPair.publicKey, { kid: 'erre', alg: 'RS256' }), jwk(ec.publicKey, { kid: 'e' })].filter(({ kid }) =>
        kids.includes(String(kid))
      )
    })
  const fake = await fakeProvider(t, keys('erre', 'e'))
  const environ = { IDP_URL: fake.url, IDP_ANON_KEY: 'anonima', IDP_JWT_SECRET: SECRET }
  const { app } = await build(t, environ, undefined, PATIENT)
  const pem = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString()
  const token = (alg: string, kid: string, signer: Signer, iat = now()) =>
    compactText(
      JSON.stringify({ alg, kid }),
      JSON.stringify({
        iss: `${fake.url}/auth/v1`,
        aud: 'authenticated',
        role: 'authenticated',
        sub: randomUUID(),
        session_id: randomUUID(),
        app_metadata: { role: 'operator' },
        iat,
        exp: now() + 7200
      }),
      signer
    )
  const status = async (token: string) => (await app.inject({ url: SOMEWHERE, headers: bearer(token) })).statusCode

  t.test('each key is valid only for its own algorithm', async (t) => {
    t.equal(await status(token('RS256', 'erre', rsa(pem(rsaPair.privateKey)))), 200)
    t.equal(await status(token('ES256', 'e', ecdsa(pem(ec.privateKey)))), 200)
    t.equal(await status(token('ES256', 'erre', ecdsa(pem(ec.privateKey)))), 401)
    t.equal(await status(token('RS256', 'e', rsa(pem(rsaPair.privateKey)))), 401)
    t.equal(
      await status(token('RS256', 'erre', rsa(pem(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey)))),
      401
    )
    t.equal(await status(token('HS256', 'erre', hmac(rsaPair.publicKey.export({ type: 'spki', format: 'pem' })))), 401)
    t.same(fake.requests.map(({ url }) => url), ['/auth/v1/.well-known/jwks.json'])
  })

  t.test('a token is refused soon after its key was withdrawn, even if it was accepted before', async (t) => {
    const [withdrawn, other] = [
      token('ES256', 'e', ecdsa(pem(ec.privateKey))),
      token('RS256', 'erre', rsa(pem(rsaPair.privateKey)))
    ]
    // The clock applies only to these requests, because with it a closed database connection would not reopen in time.
    const minutes = new AsyncLocalStorage<number>()
    for (const clock of [Date, performance]) {
      const real = clock.now.bind(clock)
      t.intercept(clock, 'now', { value: () => real() + (minutes.getStore() ?? 0) * 60_000 })
    }
    const later = (after: number, token: string) => minutes.run(after, () => status(token))
    t.equal(await status(withdrawn), 200)
    fake.answer(keys('erre'))
    t.equal(await later(10, withdrawn), 200, 'the set is fetched anew in the background')
    // A caller with an unknown key waits for the fetch.
    t.equal(await later(10, token('ES256', 'ignoto', ecdsa(pem(ec.privateKey)))), 401)
    t.equal(await later(20, withdrawn), 401)
    t.equal(await later(20, other), 200)
  })
})
