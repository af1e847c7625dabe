import type { Test } from 'tap'
import { build, type TestApp } from '#test/helper.ts'
import { freePort } from '#test/free-port.ts'

/** The real application, listening on loopback at its own public address. */
export async function site (t: Test, environ: Record<string, string> = {}): Promise<TestApp & { url: string }> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const server = await build(t, { PUBLIC_URL: url, ...environ })
  await server.app.listen({ host: '127.0.0.1', port })
  return { ...server, url }
}
