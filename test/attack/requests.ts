import { randomBytes } from 'node:crypto'
import type { AuthSession } from '#schemas/auth/session.ts'
import type { MintedKey } from '#schemas/api-key.ts'
import type { Target } from './target.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
export type Credentials = Readonly<Record<string, string>>

export const bearer = (token: string): Credentials => ({ authorization: `Bearer ${token}` })

/** Sends a request. A body is JSON, unless it is a buffer. */
export async function ask<T = unknown> (
  { address }: Target, method: Method, path: string, credentials: Credentials = {}, body?: object
) {
  const type = Buffer.isBuffer(body) ? 'application/octet-stream' : 'application/json'
  const response = await fetch(address + path, {
    method,
    redirect: 'manual',
    headers: { ...(body ? { 'content-type': type } : {}), ...credentials },
    body: body === undefined ? null : Buffer.isBuffer(body) ? new Uint8Array(body) : JSON.stringify(body)
  })
  const text = await response.text()
  const { status, headers } = response
  const isJson = headers.get('content-type')?.includes('json') && text !== ''
  return { status, location: headers.get('location') ?? '', answer: (isJson ? JSON.parse(text) : {}) as T }
}

const PASSWORD = 'una-frase-lunga-e-nuova'

/** Signs in with a password. */
export async function signIn (target: Target, email: string, password = PASSWORD, headers: Credentials = {}) {
  return await ask<AuthSession>(target, 'POST', '/auth/v1/token?grant_type=password', headers, { email, password })
}

/** Creates a person with this role, a session and a key. */
export async function person (target: Target, role: unknown = 'operator') {
  const email = `${randomBytes(6).toString('hex')}@example.org`
  const account = { email, password: PASSWORD, email_confirm: true, app_metadata: { role } }
  const made = await ask<{ id: string }>(target, 'POST', '/auth/v1/admin/users', bearer(target.serviceKey), account)
  const { answer: { access_token: token, refresh_token: refresh } } = await signIn(target, email)
  return { id: made.answer.id, email, session: bearer(token), refresh, key: await mintKey(target, bearer(token)) }
}

/** Creates a key, and returns its id and the header that its owner sends. */
export async function mintKey (target: Target, session: Credentials, query = '') {
  const { answer: { apiKey = '', id = '' } } = await ask<Partial<MintedKey>>(
    target, 'GET', `/api/cli/auth/key${query}`, session
  )
  return { id, credentials: { 'x-api-key': apiKey } }
}

export interface Operation { method: Method, path: string }

/** All operations of the API description that require rights, except the one that would end the caller's session. */
export async function guardedOperations (target: Target): Promise<Operation[]> {
  const { answer: { paths } } = await ask<{ paths: Record<string, Record<string, { security?: object[] }>> }>(
    target, 'GET', '/openapi.json'
  )
  const operations = Object.entries(paths).flatMap(([path, byMethod]) => Object.entries(byMethod)
    .map(([method, { security = [] }]) => ({ method: method.toUpperCase() as Method, path, security })))
  return operations
    .filter(({ path, security }) => path !== '/api/sessions/revoke-all' && security.length > 1 &&
      security.every((each) => Object.keys(each).length > 0))
    .map(({ method, path }) => ({ method, path: path.replaceAll(/\{[^}]*\}/g, '1') }))
}

/** The operations that the guards allow to a caller: every status except 401 and 403. */
export async function allowed (target: Target, all: readonly Operation[], credentials: Credentials): Promise<string[]> {
  const open: string[] = []
  for (const { method, path } of all) {
    const { status, answer } = await ask<{ statusCode?: string }>(
      target, method, path, credentials, method === 'GET' ? undefined : {}
    )
    if (![401, 403].includes(status) && !['401', '403'].includes(String(answer.statusCode))) {
      open.push(`${method} ${path}: ${status}`)
    }
  }
  return open
}
