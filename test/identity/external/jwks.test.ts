import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import t from 'tap'
import { createJwks } from '#src/identity/external/jwks.ts'
import {
  ec,
  failing,
  FAILURES,
  json,
  jwk,
  keyProvider,
  otherEc,
  padded,
  pem,
  rsa,
  set,
  type Behaviour
} from './key-sets.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const UNREACHABLE = { code: 'PROVIDER_NON_RAGGIUNGIBILE', statusCode: 503 }

t.test(
  'keys are found by their id, with the algorithm of their kind, and verify what their owner signed',
  async (t) => {
    const { key, seen } = await keyProvider(t, {
      keys: [
        jwk(ec.publicKey, { kid: 'a', alg: 'ES256', use: 'sig', key_ops: ['verify'] }),
        jwk(rsa.publicKey, { kid: 'b', alg: 'RS256' }),
        jwk(otherEc.publicKey, { kid: 'c' })
      ]
    })
    t.same(await key('a'), { kid: 'a', alg: 'ES256', pem: pem(ec.publicKey) })
    t.same(await key('b'), { kid: 'b', alg: 'RS256', pem: pem(rsa.publicKey) })
    t.same(await key('c'), { kid: 'c', alg: 'ES256', pem: pem(otherEc.publicKey) })
    t.ok(
      verify(
        'sha256',
        Buffer.from('testo'),
        (await key('b'))!.pem,
        sign('sha256', Buffer.from('testo'), rsa.privateKey)
      )
    )
    t.equal(seen.fetches, 1)
  }
)

t.test('only keys that verify signatures are used, and of a private key only the public part', async (t) => {
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
    jwk(rsa.publicKey, { kid: 'x', alg: 'ES256' }),
    jwk(rsa.publicKey, { kid: 'x', alg: 'HS256' }),
    jwk(rsa.publicKey, { kid: 'x', alg: 'PS256' }),
    jwk(rsa.publicKey, { kid: 'x', alg: 'none' }),
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

t.test('of two keys with one id the first counts, and of a set the first fifty keys', async (t) => {
  const many = set(...Array.from({ length: 51 }, (_, n) => `k${n}`)).keys
  const { pem: pemOf, seen } = await keyProvider(t, {
    keys: [...many.slice(0, 49), jwk(otherEc.publicKey, { kid: 'k0' }), ...many.slice(49)]
  })
  t.equal(await pemOf('k0'), pem(ec.publicKey))
  t.equal(await pemOf('k48'), pem(ec.publicKey))
  t.equal(await pemOf('k49'), undefined)
  t.equal(seen.fetches, 1)
})

t.test(
  'fifty unknown ids cost one fetch, together or one after the other, and the known key stays accepted',
  async (t) => {
    const { key, pem: pemOf, seen } = await keyProvider(t, set('a'))
    t.same(await Promise.all(Array.from({ length: 50 }, (_, n) => key(`inventato ${n}`))), Array(50).fill(undefined))
    t.equal(seen.fetches, 1)
    for (let n = 50; n < 100; n++) t.equal(await key(`inventato ${n}`), undefined)
    t.equal(seen.fetches, 1)
    t.equal(await pemOf('a'), pem(ec.publicKey))
    t.equal(seen.fetches, 1)
  }
)

t.test('fifty unknown ids cost one fetch also when the provider fails, and all are answered 503', async (t) => {
  const { key, seen, clock, warnings, answer } = await keyProvider(t, failing)
  await Promise.all(Array.from({ length: 50 }, (_, n) => t.rejects(key(`k${n}`), UNREACHABLE)))
  clock.ms += 29_999
  await t.rejects(key('a'), UNREACHABLE)
  t.equal(seen.fetches, 1)
  answer(set('a'))
  clock.ms++
  t.equal((await key('a'))?.kid, 'a')
  t.equal(seen.fetches, 2)
  t.same(warnings, [{ motivo: 'status 500' }])
})

t.test('there is at most one fetch in thirty seconds', async (t) => {
  const { key, seen, clock } = await keyProvider(t, set('a'))
  for (let second = 0; second < 300; second++) {
    t.equal(await key(`inventato ${second}`), undefined)
    clock.ms += SECOND
  }
  t.equal(seen.fetches, 10)
})

t.test('callers at the same moment share one fetch', async (t) => {
  const asked = Promise.withResolvers<ServerResponse>()
  const { pem: pemOf, seen } = await keyProvider(t, asked.resolve)
  const waiting = Array.from({ length: 20 }, () => pemOf('a'))
  json(set('a'))(await asked.promise)
  t.same(await Promise.all(waiting), Array(20).fill(pem(ec.publicKey)))
  t.equal(seen.fetches, 1)
})

t.test('an id that the provider does not publish is not fetched again for five minutes', async (t) => {
  const { key, seen, clock } = await keyProvider(t, set('a'))
  t.equal(await key('ignoto'), undefined)
  clock.ms += 5 * MINUTE - 1
  t.equal(await key('ignoto'), undefined)
  t.equal(seen.fetches, 1)
  clock.ms++
  t.equal(await key('ignoto'), undefined)
  t.equal(seen.fetches, 2)
})

t.test('a thousand unknown ids are cached and no more, and an overlong id is not looked up', async (t) => {
  const { key, seen, clock } = await keyProvider(t, set('a'))
  await Promise.all(Array.from({ length: 1001 }, (_, n) => key(`inventato ${n}`)))
  clock.ms += MINUTE
  t.equal(await key('inventato 1000'), undefined)
  t.equal(await key('inventato 1'), undefined)
  t.equal(await key('x'.repeat(257)), undefined)
  t.equal(seen.fetches, 1)
  t.equal(await key('inventato 0'), undefined)
  t.equal(seen.fetches, 2)
})

t.test('a new key is accepted within thirty seconds, even when a caller asked for it too early', async (t) => {
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

t.test('an id that was unknown is accepted as soon as a set has it', async (t) => {
  const { key, seen, clock, settled, answer } = await keyProvider(t, set('a'))
  t.equal(await key('nuova'), undefined)
  answer(set('a', 'nuova'))
  clock.ms += 30 * SECOND
  await settled()
  t.equal((await key('nuova'))?.kid, 'nuova')
  t.equal(seen.fetches, 2)
})

t.test(
  'after ten minutes the set is fetched in the background, and removed or replaced keys are then refused',
  async (t) => {
    const { pem: pemOf, key, seen, clock, settled, answer } = await keyProvider(t, set('resta', 'cambia', 'via'))
    await key('resta')
    clock.ms += 10 * MINUTE - 1
    t.equal(await pemOf('via'), pem(ec.publicKey))
    t.equal(seen.fetches, 1)

    const asked = Promise.withResolvers<ServerResponse>()
    answer(asked.resolve)
    clock.ms++
    for (const kid of ['via', 'cambia', 'resta']) {
      t.equal(await pemOf(kid), pem(ec.publicKey), 'answered before the provider has answered')
    }
    json({ keys: [...set('resta').keys, jwk(otherEc.publicKey, { kid: 'cambia' })] })(await asked.promise)
    await settled()
    t.equal(seen.fetches, 2)
    t.equal(await pemOf('via'), undefined)
    t.equal(await pemOf('cambia'), pem(otherEc.publicKey))
    t.equal(await pemOf('resta'), pem(ec.publicKey))
    t.equal(seen.fetches, 2)
  }
)

t.test('a set without keys withdraws all of them', async (t) => {
  const { key, clock, settled, answer } = await keyProvider(t, set('a'))
  await key('a')
  answer({ keys: [] })
  clock.ms += 10 * MINUTE
  await key('a')
  await settled()
  t.equal(await key('a'), undefined)
})

t.test(
  'known keys are used for a day while the provider fails, at one fetch in thirty seconds, and then refused',
  async (t) => {
    const { key, pem: pemOf, seen, clock, settled, answer } = await keyProvider(t, set('a'))
    await key('a')
    answer(failing)
    clock.ms += 10 * MINUTE
    for (let n = 0; n < 5; n++) t.equal(await pemOf('a'), pem(ec.publicKey))
    await settled()
    t.equal(seen.fetches, 2)
    clock.ms += 30 * SECOND
    t.equal(await pemOf('a'), pem(ec.publicKey))
    t.equal(await key('ignota'), undefined, 'what is not known is refused, not an outage')
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
  }
)

t.test('after a day without callers the set is fetched before a key is accepted', async (t) => {
  const { key, seen, clock, answer } = await keyProvider(t, set('a'))
  await key('a')
  answer(set('b'))
  clock.ms += 24 * HOUR
  t.equal(await key('a'), undefined)
  t.equal((await key('b'))?.kid, 'b')
  t.equal(seen.fetches, 2)
})

for (const [name, behaviour, motivo] of FAILURES) {
  t.test(`an answer that is no key set leaves the last set in use: ${name}`, async (t) => {
    const { key, seen, clock, warnings, settled, answer } = await keyProvider(t, behaviour)
    await t.rejects(key('a'), UNREACHABLE)
    t.same(warnings, [{ motivo }])
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

t.test('an answer of 64 KiB is the largest that is read', async (t) => {
  const { key } = await keyProvider(t, (response) => response.end(padded(64 * 1024)))
  t.equal((await key('a'))?.kid, 'a')
})

t.test(
  'a provider that hangs, before its answer or in the middle of it, is given up, and its connection is closed',
  async (t) => {
    const hanging: Behaviour[] = [() => {}, (response) => response.writeHead(200).write('{"keys":[')]
    for (const hang of hanging) {
      const dropped = Promise.withResolvers<void>()
      // The time is up when the request has arrived, on a machine of any speed.
      const limit = new AbortController()
      t.intercept(AbortSignal, 'timeout', { value: () => limit.signal })
      const { key, warnings } = await keyProvider(t, (response) => {
        response.on('close', dropped.resolve)
        hang(response)
        limit.abort(new DOMException('the time is up', 'TimeoutError'))
      })
      await t.rejects(key('a'), UNREACHABLE)
      await dropped.promise
      t.same(warnings, [{ motivo: 'TimeoutError' }])
    }
  }
)

t.test('the body of an error is not waited for', async (t) => {
  const dropped = Promise.withResolvers<void>()
  const { key } = await keyProvider(t, (response) => response.on('close', dropped.resolve).writeHead(500).write('{'), {
    timeoutMs: HOUR
  })
  await t.rejects(key('a'), UNREACHABLE)
  await dropped.promise
})

t.test('a provider that is gone is a 503, and it is asked again after thirty seconds', async (t) => {
  const { key, stop, warnings, clock } = await keyProvider(t, set('a'))
  await stop()
  await t.rejects(key('a'), UNREACHABLE)
  clock.ms += 30 * SECOND
  await t.rejects(key('a'), UNREACHABLE)
  t.same(warnings, [{ motivo: 'ECONNREFUSED' }, { motivo: 'ECONNREFUSED' }])
})

t.test('an answer has five seconds, and a redirect is never followed', async (t) => {
  const calls: RequestInit[] = []
  const spying: typeof fetch = async (_url, init) => {
    calls.push(init ?? {})
    return Response.json(set('a'))
  }
  const timeouts: number[] = []
  t.intercept(AbortSignal, 'timeout', {
    value: (ms: number) => {
      timeouts.push(ms)
      return new AbortController().signal
    }
  })
  await createJwks({ url: 'https://identita.esempio.it/jwks', fetch: spying, log: { warn () {} } }).key('a')
  t.same(timeouts, [5000])
  t.match(calls, [{ redirect: 'error', signal: AbortSignal }])
})

t.test('keys are fetched over https, or from this machine', async (t) => {
  const options = { log: { warn () {} }, fetch: () => Promise.reject(new Error('not asked')) }
  for (const url of [
    'https://identita.esempio.it/auth/v1/.well-known/jwks.json',
    'http://localhost:54321/jwks',
    'http://127.0.0.1/jwks',
    'http://127.1/jwks',
    'http://[::1]:9999/jwks'
  ]) {
    t.doesNotThrow(() => createJwks({ url, ...options }), url)
  }
  for (const url of [
    '',
    'jwks',
    '/jwks',
    'http://identita.esempio.it/jwks',
    'http://localhost.esempio.it/jwks',
    'http://127.0.0.1.esempio.it/jwks',
    'http://0.0.0.0/jwks',
    'http://10.0.0.1/jwks',
    'http://[::ffff:7f00:1]/jwks',
    'ftp://127.0.0.1/jwks',
    'file:///etc/passwd',
    'data:application/json,{"keys":[]}',
    'about:blank',
    'https://utente:segreto@identita.esempio.it/jwks'
  ]) {
    t.throws(() => createJwks({ url, ...options }), /^L'indirizzo del servizio(?!.*segreto)/, url)
  }
})
