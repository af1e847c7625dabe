import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { build, type TestApp } from '#test/helper.ts'

/** Two servers of one installation, with one database and one master key. */
export async function twoServers (t: Test, environ: Record<string, string> = {}): Promise<[TestApp, TestApp]> {
  const shared = { MASTER_KEY: randomBytes(32).toString('base64'), ...environ }
  const first = await build(t, shared)
  return [first, await build(t, { ...shared, DATABASE_URL: first.url })]
}
