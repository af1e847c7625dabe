const SECONDS = /^\d+$/

/**
 * Milliseconds that a receiver wants to be left alone, by its header `Retry-After` (RFC 9110, 10.2.3: seconds, or a
 * date); undefined where it says nothing that can be understood.
 */
export function retryAfterMs (header: string | undefined, now = Date.now()): number | undefined {
  if (header === undefined) return undefined
  const ms = SECONDS.test(header) ? Number(header) * 1000 : Date.parse(header) - now
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0)
}
