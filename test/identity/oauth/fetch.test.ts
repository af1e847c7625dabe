import { gzipSync } from 'node:zlib'
import type { RequestListener } from 'node:http'
import t, { type Test } from 'tap'
import { fetchFromProvider, ProviderUnreachable } from '#src/identity/oauth/fetch.ts'
import { githubClient } from '#src/identity/oauth/github.ts'
import { openidClient } from '#src/identity/oauth/openid.ts'
import { cached } from '#src/identity/oauth/cached.ts'
import { listen } from './listen.ts'
import { CLIENT } from './openid-provider.ts'
import { freePort } from '#test/free-port.ts'

const GET = { method: 'GET', headers: {}, body: undefined, redirect: 'manual' } as const
const WAY = { state: '6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11', nonce: 'n', verifier: 'v'.repeat(43) }
const MEBI = 1024 * 1024

async function reason (work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'nothing',
    (err: unknown) => (err instanceof Error && 'reason' in err ? String(err.reason) : String(err))
  )
}

async function server (t: Test, handler: RequestListener): Promise<string> {
  return (await listen(t, handler)).url
}

t.test('an answer is read whole, and its size is bounded after decompression', async (t) => {
  const url = await server(t, (request, response) => {
    if (request.url === '/small') {
      return response.writeHead(200, { 'content-encoding': 'gzip', 'x-a': 'b' }).end(gzipSync('{"a":1}'))
    }
    if (request.url === '/bomb') {
      return response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(8 * MEBI)))
    }
    if (request.url === '/empty') return response.writeHead(204).end()
    if (request.url === '/away') return response.writeHead(302, { location: 'https://evil.example/' }).end()
    response.writeHead(404).end('no')
  })
  const small = await fetchFromProvider(`${url}/small`, GET)
  t.strictSame(
    [await small.json(), small.headers.get('x-a'), small.headers.get('content-encoding')],
    [{ a: 1 }, 'b', null]
  )
  t.equal(await reason(fetchFromProvider(`${url}/bomb`, GET)), 'too large')
  t.equal((await fetchFromProvider(`${url}/empty`, GET)).status, 204)
  t.equal((await fetchFromProvider(`${url}/away`, GET)).status, 302, 'a redirect is an answer, and not followed')
  t.equal((await fetchFromProvider(`${url}/`, GET)).status, 404)
})

t.test('no request is sent to an address that is not https or loopback', async (t) => {
  for (const address of [
    'http://example.org/',
    'ftp://127.0.0.1/',
    'https://a:b@127.0.0.1/',
    'file:///etc/passwd',
    'x'
  ]) {
    t.equal(await reason(fetchFromProvider(address, GET)), 'address')
    await t.rejects(fetchFromProvider(address, GET), ProviderUnreachable)
  }
  t.equal(await reason(fetchFromProvider(`http://127.0.0.1:${await freePort()}/`, GET)), 'ECONNREFUSED')
})

t.test('a provider that stops answering, at any point, is given up after the time limit', async (t) => {
  const silent = await server(t, () => {})
  const settings = { name: 'oidc', ...CLIENT, issuer: silent }
  const redirectUri = 'http://127.0.0.1/auth/v1/callback'
  t.match(
    await reason(openidClient(settings, redirectUri, 0.05).authorizationUrl(WAY, { parameters: {} })),
    'TimeoutError'
  )
  const endpoints = {
    authorization_endpoint: `${silent}/a`,
    token_endpoint: `${silent}/t`,
    userinfo_endpoint: `${silent}/u`
  }
  const github = githubClient({ name: 'github', ...CLIENT, ...endpoints }, redirectUri, 0.05)
  t.equal(await reason(github.exchangeCode(WAY, { state: WAY.state, code: 'abc' })), 'TimeoutError')
  // Headers, and then a drop now and then.
  const slow = await server(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const drip = setInterval(() => response.write(' '), 10)
    response.on('close', () => clearInterval(drip))
  })
  t.equal(
    await reason(
      openidClient({ ...settings, issuer: slow }, redirectUri, 0.05).authorizationUrl(WAY, { parameters: {} })
    ),
    'TimeoutError'
  )
})

t.test('metadata are fetched once for all callers, cached, and used on when a later fetch fails', async (t) => {
  let loads = 0
  let fails = false
  let clock = 0
  const get = cached(async () => {
    loads++
    await Promise.resolve()
    if (fails) throw new Error('no')
    return loads
  }, 1000, () => clock)

  fails = true
  await t.rejects(get(), { message: 'no' })
  fails = false
  t.strictSame(await Promise.all([get(), get(), get()]), [2, 2, 2], 'a failure is not kept')
  clock = 999
  t.equal(await get(), 2)
  clock = 1000
  t.equal(await get(), 3)
  fails = true
  clock = 5000
  t.equal(await get(), 3, 'the last one serves on')
  fails = false
  clock += 59_999
  t.equal(await get(), 3)
  t.equal(loads, 4, 'for a minute nothing is tried')
  clock += 1
  t.equal(await get(), 5)
})
