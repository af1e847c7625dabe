import { generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto'
import type { RequestListener, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { Test } from 'tap'
import { createJwks, type JwksOptions } from '#src/identity/external/jwks.ts'
import { fakeProvider } from './fake-provider.ts'

export const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
export const otherEc = generateKeyPairSync('ec', { namedCurve: 'P-256' })
export const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
export const jwk = (key: KeyObject, members: object = {}): JsonWebKey => ({
  ...key.export({ format: 'jwk' }),
  ...members
})
export const pem = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }).toString()
/** A set with the key `ec` under all of these ids. */
export const set = (...kids: string[]) => ({
  keys: kids.map((kid) => jwk(ec.publicKey, { kid, alg: 'ES256', use: 'sig' }))
})

export type Behaviour = (response: ServerResponse) => void

/**
 * A provider on loopback that publishes keys and counts requests. The cache of its keys has a clock that only the test
 * advances.
 */
export async function keyProvider (t: Test, first: object | Behaviour, options: Partial<JwksOptions> = {}) {
  const seen = { fetches: 0, paths: new Set<string>() }
  const answering = (value: object | Behaviour): RequestListener => {
    const behaviour = typeof value === 'function' ? (value as Behaviour) : json(value)
    return ({ url = '' }, response) => {
      seen.fetches++
      seen.paths.add(url)
      behaviour(response)
    }
  }
  const provider = await fakeProvider(t, answering(first))
  const warnings: { reason: string }[] = []
  const clock = { ms: 1 }
  const jwks = createJwks({
    url: `${provider.url}/auth/v1/.well-known/jwks.json`,
    now: () => clock.ms,
    log: { warn: (fields) => warnings.push(fields) },
    ...options
  })
  return {
    seen,
    warnings,
    clock,
    stop: provider.stop,
    key: jwks.key,
    /** The PEM of the key with this id. */
    pem: async (kid: string) => (await jwks.key(kid))?.pem,
    /** Sets the provider's behaviour from now on. */
    answer: (value: object | Behaviour) => provider.answer(answering(value)),
    /** Waits for the fetch in progress, because a caller with an unknown key shares that fetch. */
    settled: async () => { await jwks.key(`attesa ${clock.ms}`) }
  }
}

export const json =
  (body: object): Behaviour =>
    (response) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
export const failing: Behaviour = (response) => response.writeHead(500).end('{"keys":[]}')

const gone: Behaviour = (response) => response.destroy()
const redirecting: Behaviour = (response) => {
  if (response.req.url === '/altrove') json(set('a'))(response)
  else response.writeHead(302, { location: '/altrove' }).end()
}
/** A set with the key `a`, extended with blanks to this number of bytes. */
export const padded = (bytes: number) => JSON.stringify(set('a')).padEnd(bytes)
const endless: Behaviour = (response) => {
  const more = () => { if (!response.destroyed && response.write(' '.repeat(16_384))) setImmediate(more) }
  response.on('drain', more)
  more()
}

/** Responses that are not a key set, and the logged reason. */
export const FAILURES: readonly [string, Behaviour, string][] = [
  ['an error', failing, 'status 500'],
  ['a 204', (response) => response.writeHead(204).end(), 'status 204'],
  ['a 203 with a set', (response) => response.writeHead(203).end(padded(0)), 'status 203'],
  ['a redirect', redirecting, 'TypeError'],
  ['a closed connection', gone, 'UND_ERR_SOCKET'],
  [
    'half an answer',
    (response) => response.writeHead(200, { 'content-length': 1000 }).write('{"keys":[', () => response.destroy()),
    'UND_ERR_SOCKET'
  ],
  ['one byte too many', (response) => response.end(padded(64 * 1024 + 1)), 'too large'],
  ['a body without end', endless, 'too large'],
  [
    'a small body that unpacks to a large one',
    (response) => response.setHeader('content-encoding', 'gzip').end(gzipSync(padded(1e6))),
    'too large'
  ],
  ['text', (response) => response.end('<html>'), 'not JSON'],
  ['nothing', (response) => response.end(), 'not JSON'],
  ...['null', '[]', '7', '{}', '{"keys":null}', '{"keys":{"0":{}}}', '{"__proto__":{"keys":[]}}'].map(
    (body): [string, Behaviour, string] => [body, (response) => response.end(body), 'not a key set']
  )
]
