import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import type { Config } from '#src/config/config.ts'
import { safeAddress } from '#src/lib/addresses.ts'
import { ProviderNonRaggiungibile } from '../errors.ts'
import { parseJson, readBody, reasonOf, UnusableResponse } from '../response-body.ts'
import { externalSettings } from './external-settings.ts'

/** A public key that verifies access tokens, and the only algorithm for which it may be used. */
interface VerificationKey { kid: string, alg: 'RS256' | 'ES256', pem: string }

export interface JwksOptions {
  url: string
  log: { warn (fields: { reason: string }, message: string): void }
  fetch?: typeof globalThis.fetch
  now?: () => number
  timeoutMs?: number
}

const MINUTE = 60_000
/** The minimum time between two fetches, including failed ones. Otherwise each invented `kid` would cause a fetch. */
const BETWEEN_FETCHES_MS = 30_000
const FRESH_MS = 10 * MINUTE
/** While the provider fails, cached keys are used for this long. */
const STALE_MS = 24 * 60 * MINUTE
const TIMEOUT_MS = 5000
const RESPONSE_BYTES = 64 * 1024
const KEYS_MAX = 50
const KID_LENGTH = 256
const RSA_BITS = 2048

export type Jwks = ReturnType<typeof createJwks>

/**
 * An in-memory JSON Web Key Set (RFC 7517). It is fetched at the first use, and again for an unknown `kid`. A use after
 * ten minutes refreshes it in the background.
 * @throws UnsafeAddress when the URL is neither https nor http on loopback, or contains credentials
 */
export function createJwks ({
  url, log, fetch = globalThis.fetch, now = () => performance.now(), timeoutMs = TIMEOUT_MS
}: JwksOptions) {
  safeAddress(url)
  let keys: ReadonlyMap<string, VerificationKey> = new Map()
  let fetchedAt = -Infinity
  let triedAt = -Infinity
  let fetching: Promise<void> | undefined

  const age = () => now() - fetchedAt

  return {
    /**
     * The key with this id. Undefined when the last fetched set does not contain it.
     * @throws ProviderNonRaggiungibile when no key set of the last 24 hours is cached and none can be fetched
     */
    async key (kid: string): Promise<VerificationKey | undefined> {
      if (kid === '' || kid.length > KID_LENGTH) return undefined
      const known = age() < STALE_MS ? keys.get(kid) : undefined
      if (known) {
        // Not awaited, because it never rejects.
        if (age() >= FRESH_MS) void refresh()
        return known
      }
      await refresh()
      if (age() >= STALE_MS) throw new ProviderNonRaggiungibile()
      return keys.get(kid)
    }
  }

  /** Concurrent callers share one fetch. Never rejects. */
  async function refresh (): Promise<void> {
    if (fetching === undefined && now() - triedAt >= BETWEEN_FETCHES_MS) {
      triedAt = now()
      fetching = load().finally(() => { fetching = undefined })
    }
    await fetching
  }

  async function load (): Promise<void> {
    try {
      keys = readKeys(await download(fetch, url, timeoutMs))
      fetchedAt = now()
    } catch (err) {
      log.warn({ reason: reasonOf(err) }, 'the keys of the identity provider could not be fetched')
    }
  }
}

/**
 * Fetches the signing keys of the external provider.
 * @returns the provider's host
 * @throws the error of the fetch or of the keys, and ConfigError, which names the variable
 */
export async function checkProvider (config: Config): Promise<string> {
  const { url, base } = externalSettings(config)
  readKeys(await download(globalThis.fetch, `${base}/.well-known/jwks.json`, TIMEOUT_MS))
  return new URL(url).host
}

async function download (fetch: typeof globalThis.fetch, url: string, timeoutMs: number): Promise<string> {
  const response = await fetch(url, {
    redirect: 'error', signal: AbortSignal.timeout(timeoutMs), headers: { accept: 'application/json' }
  })
  if (response.status !== 200) {
    // Without this the connection stays open until the timeout.
    await response.body?.cancel()
    throw new UnusableResponse(`status ${response.status}`)
  }
  return (await readBody(response, RESPONSE_BYTES)).toString()
}

/** The usable keys among the first fifty entries of a set. When two keys have the same `kid`, the first one is used. */
function readKeys (text: string): Map<string, VerificationKey> {
  const entries = member(parseJson(text), 'keys')
  if (!Array.isArray(entries)) throw new UnusableResponse('not a key set')
  const keys = entries.slice(0, KEYS_MAX).map(readKey).filter((key) => key !== undefined)
  return new Map(keys.reverse().map((key) => [key.kid, key]))
}

/**
 * Accepts RSA keys of at least 2048 bits, and P-256 keys, for signatures with a supported algorithm. Undefined for any
 * other entry.
 */
function readKey (entry: unknown): VerificationKey | undefined {
  const kid = member(entry, 'kid')
  const use = member(entry, 'use')
  const kind = kindOf(entry)
  if (typeof kid !== 'string' || kid === '' || kid.length > KID_LENGTH || kind === undefined) return undefined
  if (!(use === undefined || use === 'sig')) return undefined
  const alg = member(entry, 'alg')
  if (!(alg === undefined || alg === kind.alg)) return undefined
  const key = imported(kind.jwk)
  if (key === undefined || (kind.alg === 'RS256' && (key.asymmetricKeyDetails?.modulusLength ?? 0) < RSA_BITS)) {
    return undefined
  }
  return { kid, alg: kind.alg, pem: key.export({ type: 'spki', format: 'pem' }).toString() }
}

/** The algorithm and the public members of a key. Private members are not read. */
function kindOf (entry: unknown): { alg: VerificationKey['alg'], jwk: JsonWebKey } | undefined {
  const text = (name: string) => String(member(entry, name))
  if (member(entry, 'kty') === 'RSA') return { alg: 'RS256', jwk: { kty: 'RSA', n: text('n'), e: text('e') } }
  if (member(entry, 'kty') === 'EC' && member(entry, 'crv') === 'P-256') {
    return { alg: 'ES256', jwk: { kty: 'EC', crv: 'P-256', x: text('x'), y: text('y') } }
  }
  return undefined
}

function imported (jwk: JsonWebKey): KeyObject | undefined {
  try {
    return createPublicKey({ key: jwk, format: 'jwk' })
  } catch {
    return undefined
  }
}

function member (value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
