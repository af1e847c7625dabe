import type { CustomFetch } from 'openid-client'
import { isSafeAddress } from '#src/lib/addresses.ts'

/** For one answer of a provider, until its last byte. */
export const PROVIDER_TIMEOUT_SECONDS = 10
const LARGEST_BYTES = 256 * 1024
const NO_BODY = [204, 205, 304]

/** The provider could not be reached, or failed itself. `reason` may be logged. */
export class ProviderUnreachable extends Error {
  readonly reason: string
  constructor (reason: string) {
    super('the provider could not be reached')
    this.name = 'ProviderUnreachable'
    this.reason = reason
  }
}

/**
 * Sends a request to a provider: only https, or http on loopback; redirects are not followed, because they would take the
 * credentials along; the size of the answer is bounded.
 * @throws ProviderUnreachable
 */
export const fetchFromProvider: CustomFetch = async (url, { signal, ...options }) => {
  if (!isSafeAddress(url)) throw new ProviderUnreachable('address')
  try {
    const response = await fetch(url, {
      ...options,
      redirect: 'manual',
      signal: signal ?? AbortSignal.timeout(PROVIDER_TIMEOUT_SECONDS * 1000)
    })
    const body = await readBounded(response)
    if (response.status >= 500) throw new ProviderUnreachable(`status ${response.status}`)
    const headers = new Headers(response.headers)
    // `fetch` has decompressed the body.
    for (const name of ['content-encoding', 'content-length']) headers.delete(name)
    return new Response(NO_BODY.includes(response.status) ? null : body, { status: response.status, headers })
  } catch (err) {
    throw err instanceof ProviderUnreachable ? err : new ProviderUnreachable(reasonOf(err))
  }
}

/** The body; its size is counted after decompression. */
async function readBounded (response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    // Leaving the loop drops the connection.
    if (length > LARGEST_BYTES) throw new ProviderUnreachable('too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Node hides the reason of a failed connection in the cause. */
function reasonOf (err: unknown): string {
  const { name, cause } = err instanceof Error ? err : new Error()
  return cause instanceof Error && 'code' in cause ? String(cause.code) : name
}
