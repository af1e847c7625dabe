import type { CustomFetch } from 'openid-client'
import { isSafeAddress } from '#src/lib/addresses.ts'
import { readBody, reasonOf } from '../response-body.ts'

/** Timeout for one response of a provider, including its body. */
export const PROVIDER_TIMEOUT_SECONDS = 10
const MAX_BYTES = 256 * 1024
const NO_BODY = [204, 205, 304]

/** The provider was unreachable or failed. `reason` is safe to log. */
export class ProviderUnreachable extends Error {
  readonly reason: string
  constructor (reason: string) {
    super('the provider could not be reached')
    this.name = 'ProviderUnreachable'
    this.reason = reason
  }
}

/**
 * Sends a request to a provider: only https, or http on loopback. Redirects are not followed, because they would
 * forward the credentials. The size of the response is limited.
 * @throws ProviderUnreachable
 */
export const fetchFromProvider: CustomFetch = async (url, { signal, ...options }) => {
  if (!isSafeAddress(url)) throw new ProviderUnreachable('address')
  try {
    const response = await fetch(url, {
      ...options, redirect: 'manual', signal: signal ?? AbortSignal.timeout(PROVIDER_TIMEOUT_SECONDS * 1000)
    })
    const body = await readBody(response, MAX_BYTES)
    if (response.status >= 500) throw new ProviderUnreachable(`status ${response.status}`)
    const headers = new Headers(response.headers)
    // `fetch` has already decompressed the body, so these headers do not match it any more.
    for (const name of ['content-encoding', 'content-length']) headers.delete(name)
    return new Response(NO_BODY.includes(response.status) ? null : body, { status: response.status, headers })
  } catch (err) {
    throw err instanceof ProviderUnreachable ? err : new ProviderUnreachable(reasonOf(err))
  }
}
