import { randomUUID } from 'node:crypto'
import type { CALLERS } from './requests.ts'

type Caller = typeof CALLERS[number]

/** Signs in the callers of generated requests. */
export interface Callers {
  /** The credentials of a caller. After `forget`, the person is a new user with a new session. */
  headers (caller: Caller): Promise<Record<string, string>>
  /** Forgets the person's session, because it has ended. */
  forget (): void
}

/** Headers without keep-alive, because on a busy machine an idle connection may close while a request is sent. */
export const CLOSING = { connection: 'close' }
export const CLOSING_JSON = { 'content-type': 'application/json', ...CLOSING }

const PASSWORD = 'una-frase-lunga-per-tutti'

/** The callers of a server. The person is an administrator whom the service key has created. */
export function callers (
  address: string, { apiKey, serviceKey }: { apiKey: string, serviceKey: string }
): Callers {
  let token: Promise<string> | undefined

  async function signIn (): Promise<string> {
    const email = `${randomUUID()}@example.org`
    const post = async (path: string, headers: Record<string, string>, body: object) => {
      const response = await fetch(address + path, {
        method: 'POST', headers: { ...CLOSING_JSON, ...headers }, body: JSON.stringify(body)
      })
      if (!response.ok) throw new Error(`${path} was answered with ${response.status}: ${await response.text()}`)
      return await response.json() as { access_token: string }
    }
    await post('/auth/v1/admin/users', { authorization: `Bearer ${serviceKey}` }, {
      email, password: PASSWORD, email_confirm: true, app_metadata: { role: 'admin' }
    })
    return (await post('/auth/v1/token?grant_type=password', {}, { email, password: PASSWORD })).access_token
  }

  return {
    forget () { token = undefined },
    async headers (caller): Promise<Record<string, string>> {
      if (caller === 'nobody') return {}
      if (caller === 'key') return { 'x-api-key': apiKey }
      return { authorization: `Bearer ${caller === 'service' ? serviceKey : await (token ??= signIn())}` }
    }
  }
}
