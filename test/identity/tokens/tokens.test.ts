import assert from 'node:assert/strict'
import { createHash, createHmac, createPublicKey, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import {
  classifyRefresh, decodeRefreshToken, encodeRefreshToken, REUSE_INTERVAL_MS
} from '#src/identity/tokens/refresh-token.ts'
import { SigningKeys } from '#src/identity/tokens/signing-keys.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { anyCharacter } from '#test/any-character.ts'
import { testDatabase } from '#test/database.ts'
import { build, signIn } from '#test/helper.ts'
import { callAs, bearer, isLetIn } from '#test/identity/requests.ts'
import { claimsOf, headerOf } from '#test/identity/token-parts.ts'
import { twoServers } from '#test/identity/two-servers.ts'

const MAX = 2 ** 31 - 1
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

const secret = Buffer.alloc(32, 7)
const counters = fc.oneof(
  fc.nat({ max: MAX }),
  fc.constantFrom(0, 1, 127, 128, 16383, 16384, 2097151, 2097152, 268435455, 268435456, MAX)
)
const tokens = fc.record({ sessionId: fc.uuid(), counter: counters }, { noNullPrototype: true })

/** A token made from any body, with the right HMAC and checksum. */
function signed (body: Buffer, by = secret): string {
  const key = createHmac('sha256', by).update(body.subarray(1, 17)).digest()
  return withChecksum(Buffer.concat([body, createHmac('sha256', key).update(body).digest().subarray(0, 16)]))
}

function withChecksum (bytes: Buffer): string {
  return Buffer.concat([bytes, createHash('sha256').update(bytes).digest().subarray(0, 4)]).toString('base64url')
}

const session = Buffer.from('0d9b7b1e2f5c4a559c7e8a3f0c1d2e3f', 'hex')
const body = (counter: number[], version = 0) => Buffer.concat([Buffer.of(version), session, Buffer.of(...counter)])

t.test('a decoded token has the values that were encoded', async (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), tokens, (secret, token) => {
        const text = encodeRefreshToken(Buffer.from(secret), token)
        assert.match(text, /^[A-Za-z0-9_-]{51,56}$/)
        assert.deepEqual(decodeRefreshToken(Buffer.from(secret), text), token)
      }),
      { numRuns: 500 }
    )
  )
})

t.test('the format has not changed, so tokens that were issued earlier are still valid', async (t) => {
  const token = { sessionId: '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f', counter: 300 }
  t.equal(encodeRefreshToken(secret, token), signed(body([0xac, 0x02])))
  t.equal(encodeRefreshToken(secret, token), 'AA2bex4vXEpVnH6KPwwdLj-sArHkUwNWnUNOiUHpQ9EaANBcQ6-q')
  t.equal(encodeRefreshToken(secret, { ...token, sessionId: token.sessionId.toUpperCase() }),
    encodeRefreshToken(secret, token))
})

t.test('a token with any one bit changed is refused, even with a corrected checksum', async (t) => {
  t.doesNotThrow(() => fc.assert(fc.property(tokens, (token) => {
    const bytes = Buffer.from(encodeRefreshToken(secret, token), 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes)
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      assert.equal(decodeRefreshToken(secret, changed.toString('base64url')), undefined)
      if (bit < (bytes.length - 4) * 8) {
        assert.equal(decodeRefreshToken(secret, withChecksum(changed.subarray(0, -4))), undefined)
      }
    }
  }), { numRuns: 30 }))
})

t.test('a token of another installation, or changed to another session or counter, is refused', async (t) => {
  t.doesNotThrow(() => fc.assert(fc.property(tokens, tokens, (token, other) => {
    fc.pre(token.sessionId !== other.sessionId)
    const bytes = Buffer.from(encodeRefreshToken(secret, token), 'base64url')
    assert.equal(decodeRefreshToken(Buffer.alloc(32, 8), bytes.toString('base64url')), undefined)
    const others = Buffer.from(encodeRefreshToken(secret, other), 'base64url')
    const mac = bytes.subarray(-20, -4)
    assert.equal(decodeRefreshToken(secret, withChecksum(Buffer.concat([others.subarray(0, -20), mac]))), undefined)
    const later = Buffer.from(
      encodeRefreshToken(secret, { ...token, counter: token.counter === MAX ? 0 : token.counter + 1 }),
      'base64url'
    )
    assert.equal(decodeRefreshToken(secret, withChecksum(Buffer.concat([later.subarray(0, -20), mac]))), undefined)
  })))
})

t.test('decoding never throws, and every accepted text is exactly the encoded form', async (t) => {
  const garbled = tokens.chain((token) => fc.tuple(fc.nat(), fc.string({ maxLength: 2 })).map(([at, put]) => {
    const text = encodeRefreshToken(secret, token)
    return text.slice(0, at % text.length) + put + text.slice(at % text.length + put.length)
  }))
  const shaped = fc.array(fc.constantFrom(...ALPHABET), { minLength: 50, maxLength: 57 })
    .map((characters) => characters.join(''))
  const anyBody = fc.uint8Array({ maxLength: 30 }).map((bytes) => signed(Buffer.from(bytes)))
  const signedCounter = fc.uint8Array({ maxLength: 6 }).map((bytes) => signed(body([...bytes])))
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(), fc.string({ unit: anyCharacter, maxLength: 120 }), shaped, garbled, anyBody, signedCounter
        ),
        (text) => {
          const token = decodeRefreshToken(secret, text)
          if (token) assert.equal(encodeRefreshToken(secret, token), text)
        }
      ),
      { numRuns: 5000 }
    )
  )
  t.equal(decodeRefreshToken(secret, 'A'.repeat(10_000_000)), undefined)
})

t.test('the current token is replaced, and the last one works for ten seconds and a few times a day', async (t) => {
  t.equal(REUSE_INTERVAL_MS, 10_000)
  const nowMs = 1_700_000_000_000
  const table: readonly [number, number, number, number, ReturnType<typeof classifyRefresh>][] = [
    [5, 5, 0, 3, 'rotate'], [5, 5, 10_000, 3, 'rotate'], [5, 5, 9e9, 0, 'rotate'], [0, 0, 9e9, 0, 'rotate'],
    [4, 5, 0, 3, 'repeat'], [4, 5, 9_999, 3, 'repeat'], [4, 5, 10_000, 0, 'doubtful'], [4, 5, 9e9, 2, 'doubtful'],
    [4, 5, 10_000, 3, 'reused'], [3, 5, 0, 0, 'doubtful'], [3, 5, 9_999, 2, 'doubtful'], [3, 5, 9_999, 3, 'reused'],
    [3, 5, 10_000, 0, 'reused'], [3, 5, 9e9, 0, 'reused'], [0, 5, 9_999, 0, 'doubtful'],
    [0, 5, 10_000, 0, 'reused'], [0, 4095, 10_001, 0, 'reused'], [4095, 4096, 0, 0, 'void'],
    [4095, 4096, 9e9, 3, 'void'], [0, 4097, 9e9, 0, 'void'], [4096, 4097, 0, 0, 'repeat'],
    [0, MAX, 10_001, 0, 'void'], [6, 5, 0, 0, 'invalid'], [6, 5, 9e9, 0, 'invalid'], [MAX, 0, 0, 0, 'invalid']
  ]
  for (const [tokenCounter, sessionCounter, ago, repeats, verdict] of table) {
    t.equal(classifyRefresh({ tokenCounter, sessionCounter, lastRefreshMs: nowMs - ago, nowMs, repeats }), verdict,
      `${tokenCounter} of ${sessionCounter} after ${ago} ms and ${repeats} repeats`)
  }
})

const ROTATE = '/api/v1/signing-keys/rotate'
const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

const kidOf = (token: string) => String(headerOf(token).kid)
const published = async (app: FastifyInstance) =>
  (await app.inject('/auth/v1/.well-known/jwks.json')).json().keys.map(({ kid }: { kid: string }) => kid) as string[]

/** Key pairs on a separate database, and the clock that they use. */
async function pairs (t: Test) {
  const { db, sql } = await testDatabase(t)
  // Opens all connections first, so that concurrent calls really run at the same time.
  await Promise.all(Array.from({ length: 4 }, () => sql`select 1`))
  const secrets = createKeys(randomBytes(32))
  const clock = { now: Date.now() }
  const another = (ahead = 0) => new SigningKeys(db, secrets, () => clock.now + ahead)
  return { sql, clock, another, keys: another() }
}

t.test('the signing keys', async (t) => {
  t.test('the first pair is created when needed, published, and used to sign', async (t) => {
    const { keys, sql } = await pairs(t)
    const { kid, privatePem } = await keys.current()
    t.match(await keys.jwks(), [{ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', key_ops: ['verify'], kid }])
    t.equal(await keys.find(kid), createPublicKey(privatePem).export({ type: 'spki', format: 'pem' }))
    t.equal((await keys.current()).kid, kid)
    t.equal(await keys.find('unknown'), undefined)
    const [row] = await sql`select * from signing_keys`
    t.notMatch(JSON.stringify(row), /PRIVATE/, 'the private key is encrypted')
    t.notOk((row!.private_key as Buffer).includes('PRIVATE'))
  })

  t.test('processes that need the first pair at the same time create only one', async (t) => {
    const { another, sql } = await pairs(t)
    const kids = await Promise.all(Array.from({ length: 6 }, async () => (await another().current()).kid))
    t.equal(new Set(kids).size, 1)
    t.equal((await sql`select from signing_keys`).count, 1)
  })

  t.test('a new pair is published 15 minutes before it signs, and the old one until its tokens expire', async (t) => {
    const { keys, another, clock } = await pairs(t)
    const kids = async () => (await keys.jwks()).map(({ kid }) => kid).sort()
    const { kid: old } = await keys.current()
    const { kid: next, signsFrom } = await keys.rotate()
    t.equal(signsFrom.getTime(), clock.now + 15 * MINUTE)
    t.same(await kids(), [old, next].sort())
    t.equal((await keys.current()).kid, old)
    const elsewhere = another()
    t.same([(await elsewhere.current()).kid, typeof (await elsewhere.find(next))], [old, 'string'],
      'another process agrees')

    clock.now = signsFrom.getTime() - 1
    t.equal((await keys.current()).kid, old)
    clock.now += 1
    t.equal((await keys.current()).kid, next)
    t.equal((await elsewhere.current()).kid, next)
    t.same(await kids(), [old, next].sort())
    clock.now += 60 * MINUTE
    t.ok(await keys.find(old), 'its last token has just expired')
    t.ok(keys.isLive(old))
    clock.now += 5 * MINUTE
    t.equal(await keys.find(old), undefined)
    t.notOk(keys.isLive(old))
    t.same(await kids(), [next])
  })

  t.test('after an immediate rotation the old pairs are refused, and the new one signs', async (t) => {
    const { keys, another } = await pairs(t)
    const { kid: old } = await keys.current()
    const { kid: announced } = await keys.rotate()
    const { kid } = await keys.rotate(true)
    for (const each of [keys, another()]) {
      t.same((await each.jwks()).map(({ kid }) => kid), [kid])
      t.same([await each.find(old), await each.find(announced)], [undefined, undefined])
      t.same([each.isLive(old), each.isLive(announced), each.isLive(kid)], [false, false, true])
      t.equal((await each.current()).kid, kid)
    }
    t.equal((await another(-MINUTE).current()).kid, kid, 'a process with a slow clock uses the same key')
  })

  t.test('a pair that is 90 days old is replaced, by one process of several', async (t) => {
    const { keys, another, clock } = await pairs(t)
    const { kid: old } = await keys.current()
    clock.now += 90 * DAY - 1
    t.equal(await keys.rotateWhenOld(), undefined)
    t.equal((await keys.jwks()).length, 1)
    clock.now += 1
    const written: string[] = []
    const made = await Promise.all(
      [keys, another(), another()].map((each) =>
        each.rotateWhenOld(async (_tx, { kid }) => {
          written.push(kid)
        })
      )
    )
    const rotations = made.filter((rotation) => rotation !== undefined)
    t.equal(rotations.length, 1)
    t.same(written, [rotations[0]!.kid])
    t.same((await keys.jwks()).map(({ kid }) => kid).sort(), [old, rotations[0]!.kid].sort())
    t.equal((await keys.current()).kid, old, 'it is published first')
    t.equal(await keys.rotateWhenOld(), undefined, 'once')
    clock.now += 15 * MINUTE + 90 * DAY - 1
    t.equal(await keys.rotateWhenOld(), undefined, 'its age counts from its first signature')
    clock.now += 1
    t.ok(await keys.rotateWhenOld())
  })
})

t.test('rotation by an administrator', async (t) => {
  const [first, second] = await twoServers(t)
  const { app, token } = first
  const apps = [app, second.app]
  const both = (headers: Record<string, string>) => Promise.all(apps.map((each) => isLetIn(each, headers)))
  const admin = await token({ name: 'anna', role: 'admin' })

  t.test('a rotation publishes the next pair, which signs later, and ends no session', async (t) => {
    const { access_token: old } = await signIn(app, 'piero', 'operator')
    t.same(await both(bearer(old)), [200, 200])
    const response = await callAs(app, admin, 'POST', ROTATE, { immediate: false })
    const { kid, signs_from } = response.json() as { kid: string, signs_from: string }
    t.equal(response.statusCode, 200)
    t.match(response.json(), { message: String, status: 200 })
    const wait = Date.parse(signs_from) - Date.now()
    t.ok(wait > 14 * MINUTE && wait <= 15 * MINUTE)
    for (const each of apps) {
      t.same((await published(each)).sort(), [kid, kidOf(old)].sort(), 'the next pair is published')
      t.equal(kidOf((await signIn(each, 'piero', 'operator')).access_token), kidOf(old), 'but does not sign yet')
    }

    // A quarter of an hour later.
    await app.sql`update signing_keys set signs_from = now() where kid = ${kid}`
    for (const each of apps) each.identity.signer.signingKeys.forget()
    for (const each of apps) {
      const { access_token: fresh } = await signIn(each, 'piero', 'operator')
      t.equal(kidOf(fresh), kid)
      t.same(await both(bearer(fresh)), [200, 200])
    }
    t.same(await both(bearer(old)), [200, 200], 'earlier tokens stay valid')
    const [entry] = await app.sql`select actor, object, details from audit_log where action = 'chiave_di_firma_ruotata'`
    t.same({ ...entry },
      { actor: `user:${claimsOf(admin).sub}`, object: `signing_key:${kid}`, details: { immediate: false } })
  })

  t.test('an immediate rotation refuses every earlier token on every server, and sessions continue', async (t) => {
    const sessions = [await signIn(app, 'piero', 'operator'), await signIn(second.app, 'ada', 'operator')]
    const minted = (await callAs(app, sessions[0]!.access_token, 'GET', '/api/cli/auth/key')).json().apiKey as string
    // Both servers now have the session in their cache.
    for (const { access_token } of sessions) t.same(await both(bearer(access_token)), [200, 200])
    t.same(await both(bearer(admin)), [200, 200])

    const { access_token: service } = { access_token: await token({ service: true }) }
    const response = await callAs(app, service, 'POST', ROTATE, { immediate: true })
    t.equal(response.statusCode, 200)
    const { kid, signs_from } = response.json() as { kid: string, signs_from: string }
    t.ok(Date.parse(signs_from) <= Date.now())

    for (const old of [...sessions.map(({ access_token }) => access_token), admin]) {
      t.same(await both(bearer(old)), [401, 401])
    }
    for (const each of apps) t.same(await published(each), [kid])
    for (const [n, { refresh_token }] of sessions.entries()) {
      const refreshed = await apps[1 - n]!.inject({
        method: 'POST', url: '/auth/v1/token?grant_type=refresh_token', payload: { refresh_token }
      })
      t.equal(refreshed.statusCode, 200)
      t.equal(kidOf(refreshed.json().access_token), kid)
      t.same(await both(bearer(refreshed.json().access_token)), [200, 200])
    }
    t.same(await both(bearer(service)), [200, 200], 'the service key is not affected')
    t.same(await both({ 'x-api-key': minted }), [200, 200], 'API keys are not affected')
    t.match(
      (
        await app.sql`select details from audit_log where action = 'chiave_di_firma_ruotata' order by id desc limit 1`
      )[0],
      { details: { immediate: true } }
    )
  })

  t.test('a rotation that cannot be audited is not made', async (t) => {
    const { access_token } = await signIn(app, 'anna', 'admin')
    const before = (await published(app)).sort()
    await app.sql`alter table audit_log add constraint full_disk check (false) not valid`
    const response = await callAs(app, access_token, 'POST', ROTATE, { immediate: true })
    await app.sql`alter table audit_log drop constraint full_disk`
    t.match([response.statusCode, response.json()], [503, { codice: 'REGISTRO_NON_DISPONIBILE' }])
    t.same((await published(app)).sort(), before)
    t.same(await both(bearer(access_token)), [200, 200])
  })
})

t.test('every night an old pair is replaced, with an audit entry, and a newer one is kept', async (t) => {
  const { app, token } = await build(t)
  const runJob = async () => {
    const run = await app.jobs.start('signing-keys', async () => {})
    if (typeof run === 'object') await run.ended
  }
  const before = await token()
  await runJob()
  t.same(await published(app), [kidOf(before)])
  await app.sql`update signing_keys set signs_from = now() - interval '90 days'`
  app.identity.signer.signingKeys.forget()
  await runJob()
  const kids = await published(app)
  t.equal(kids.length, 2)
  const [entry] = await app.sql`select actor, object from audit_log where action = 'chiave_di_firma_ruotata'`
  t.same({ ...entry }, { actor: 'sistema', object: `signing_key:${kids.find((kid) => kid !== kidOf(before))}` })
  t.equal(await isLetIn(app, bearer(before)), 200)
})
