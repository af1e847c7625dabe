import type { CustomFetch } from 'openid-client'
import { isSafeAddress } from '#src/lib/addresses.ts'

/** For one answer of a provider, from the connection to the last byte. */
export const CONTACT_SECONDS = 10
const LARGEST_BYTES = 256 * 1024
const NO_BODY = [204, 205, 304]

/** The provider could not be asked, or had nothing to say. `reason` may be logged. */
export class Unreachable extends Error {
  readonly reason: string
  constructor (reason: string) {
    super('the provider could not be reached')
    this.name = 'Unreachable'
    this.reason = reason
  }
}

/**
 * Asks a provider: https, or http on loopback, no redirects (they would carry credentials along), and an answer of
 * bounded size.
 * @throws Unreachable
 */
export const contact: CustomFetch = async (url, { signal, ...options }) => {
  if (!isSafeAddress(url)) throw new Unreachable('address')
  try {
    const response = await fetch(url, {
      ...options,
      redirect: 'manual',
      signal: signal ?? AbortSignal.timeout(CONTACT_SECONDS * 1000)
    })
    const body = await bounded(response)
    if (response.status >= 500) throw new Unreachable(`status ${response.status}`)
    const headers = new Headers(response.headers)
    // The body is no longer compressed.
    for (const name of ['content-encoding', 'content-length']) headers.delete(name)
    return new Response(NO_BODY.includes(response.status) ? null : body, { status: response.status, headers })
  } catch (err) {
    throw err instanceof Unreachable ? err : new Unreachable(reasonOf(err))
  }
}

/** Counted after decompression. */
async function bounded (response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    // Leaving the loop drops the connection.
    if (length > LARGEST_BYTES) throw new Unreachable('too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Node hides the reason of a failed connection in the cause. */
function reasonOf (err: unknown): string {
  const { name, cause } = err instanceof Error ? err : new Error()
  return cause instanceof Error && 'code' in cause ? String(cause.code) : name
}
