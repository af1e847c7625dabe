export interface WholeForm { body: Uint8Array<ArrayBuffer>, headers: { 'content-type': string } }

/**
 * A form as the bytes that are sent. `fetch` alone makes a stream of a form: where the connection is refused while that
 * is read, the stream fails with nobody to hear of it, which ends the process (undici, `ReadableStream is already
 * closed`).
 */
export async function wholeForm (form: FormData): Promise<WholeForm> {
  const whole = new Response(form)
  const body = new Uint8Array(await whole.arrayBuffer())
  return { body, headers: { 'content-type': whole.headers.get('content-type')! } }
}
