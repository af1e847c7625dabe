/** The error for an HTTP response that cannot be used. Its message is safe to log. */
export class UnusableResponse extends Error {}

/** Reads a body. The size limit applies after decompression. @throws UnusableResponse when the body is too large */
export async function readBody (response: Response, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    // Throwing out of the loop closes the connection.
    if (length > maxBytes) throw new UnusableResponse('too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** @throws UnusableResponse */
export function parseJson (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UnusableResponse('not JSON')
  }
}

/** The reason of a failed request, for the log. For a failed connection, Node has the reason in `cause`. */
export function reasonOf (err: unknown): string {
  if (err instanceof UnusableResponse) return err.message
  const { name, cause } = err instanceof Error ? err : new Error()
  return cause instanceof Error && 'code' in cause ? String(cause.code) : name
}
