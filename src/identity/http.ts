/** Why an answer over HTTP cannot be used; the message may be logged. */
export class UnusableAnswer extends Error {}

/** The body of an answer; its size is counted after decompression. @throws UnusableAnswer when it is too large */
export async function readBody (response: Response, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    // Leaving the loop closes the connection.
    if (length > maxBytes) throw new UnusableAnswer('too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

export function parseJson (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UnusableAnswer('not JSON')
  }
}

/** Why a request has failed, for the log: Node has the reason of a failed connection in the cause. */
export function reasonOf (err: unknown): string {
  if (err instanceof UnusableAnswer) return err.message
  const { name, cause } = err instanceof Error ? err : new Error()
  return cause instanceof Error && 'code' in cause ? String(cause.code) : name
}
