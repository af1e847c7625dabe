import type { AuthSession } from '#schemas/auth/session.ts'
import type { Client, Surroundings } from './client.ts'

const PASSWORD = 'una-frase-di-prova-lunga'
const PEOPLE = 5

/** Signs in, refreshes the session and signs out. */
export function people ({ ask, random, admin, surprise }: Surroundings): Client {
  /** Addresses that have an account. */
  const known = new Set<string>()

  async function act (): Promise<void> {
    const email = `persona${random.integer(PEOPLE)}@example.org`
    if (!known.has(email)) {
      // 400 means that the account exists, because an earlier response was lost.
      const body = { email, password: PASSWORD, name: 'Persona', surname: 'di Prova' }
      if (await ask('POST', '/api/operators', { body, headers: admin, expected: [200, 400] })) known.add(email)
      return
    }
    const signedIn = await ask('POST', '/auth/v1/token?grant_type=password', { body: { email, password: PASSWORD } })
    if (!signedIn) return
    const first = signedIn.json<AuthSession>()
    const refreshed = await ask('POST', '/auth/v1/token?grant_type=refresh_token', {
      body: { refresh_token: first.refresh_token }
    })
    if (!refreshed) return
    const headers = { authorization: `Bearer ${refreshed.json<AuthSession>().access_token}` }
    const me = await ask('GET', '/auth/v1/user', { headers })
    if (me && me.json<{ email: string }>().email !== email) surprise('a token is of another person')
    await ask('GET', '/api/sessions', { headers })
    if (await ask('POST', '/auth/v1/logout', { headers, body: {}, expected: [204] })) {
      await ask('GET', '/auth/v1/user', { headers, expected: [401, 403] })
    }
  }
  return { name: 'people', restMs: 4000, act }
}
