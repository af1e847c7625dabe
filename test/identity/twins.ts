import { randomBytes } from 'node:crypto'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { build, type TestApp } from '#test/helper.ts'

/** Two servers of one installation: one database, one master key. */
export async function twins (t: Test, environ: Record<string, string> = {}): Promise<[TestApp, TestApp]> {
  const shared = { MASTER_KEY: randomBytes(32).toString('base64'), ...environ }
  const first = await build(t, shared)
  return [first, await build(t, { ...shared, DATABASE_URL: first.url })]
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** A request of somebody with a token; a body is sent as JSON. */
export async function as (
  app: FastifyInstance,
  token: string,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  url: string,
  payload?: object
): Promise<LightMyRequestResponse> {
  return await app.inject({ method, url, headers: bearer(token), ...(payload === undefined ? {} : { payload }) })
}

/** What a token says; its signature is not looked at. */
export function claimsOf (token: string): { header: Record<string, unknown>, claims: Record<string, unknown> } {
  const [header, claims] = token
    .split('.')
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>)
  return { header: header!, claims: claims! }
}

/** The status of `GET /api/v1/paesi`, which is for everybody who is let in. */
export async function isLetIn (app: FastifyInstance, headers: Record<string, string>): Promise<number> {
  return (await app.inject({ url: '/api/v1/paesi', headers })).statusCode
}
