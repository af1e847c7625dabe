import type { LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { build, type TestApp } from '#test/helper.ts'

export const PASSWORD = 'una-password-per-le-prove'

interface ConsoleApp extends TestApp {
  /** Runs a statement as an administrator, by default with the right password. */
  run (sql: string, password?: string, name?: string): Promise<LightMyRequestResponse>
}

/** An application whose SQL console has a password, and a person who may use it. */
export async function buildConsole (
  t: Test,
  environ: Record<string, string | undefined> = {},
  options: Parameters<typeof build>[3] = {}
): Promise<ConsoleApp> {
  const app = await build(t, { QUERY_PASSWORD: PASSWORD, ...environ }, undefined, options)
  const tokens = new Map<string, string>()
  return {
    ...app,
    async run (sql, password = PASSWORD, name = 'amministratrice') {
      const token = tokens.get(name) ?? await app.token({ name, role: 'admin' })
      tokens.set(name, token)
      return app.app.inject({
        method: 'POST',
        url: '/api/querysql',
        headers: { authorization: `Bearer ${token}` },
        payload: { password, sql }
      })
    }
  }
}
