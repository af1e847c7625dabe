import type { FastifyInstance } from 'fastify'
import { SESSION_COOKIE } from '#src/administration/admin-cookies.ts'
import { bearer } from '#test/identity/requests.ts'

export const MARK = 'service_admin_access=granted'

/** Requests the cookies with a token. Returns the session's value, and both cookies as a browser sends them. */
export async function granted (app: FastifyInstance, headers: string | Record<string, string>) {
  const response = await app.inject({
    method: 'POST',
    url: '/api/admin/grant-cookie',
    headers: typeof headers === 'string' ? bearer(headers) : headers
  })
  if (response.statusCode !== 200) throw new Error(`no cookie: ${response.statusCode} ${response.body}`)
  const value = response.cookies.find(({ name }) => name === SESSION_COOKIE)!.value
  return { response, value, cookie: `${MARK}; ${SESSION_COOKIE}=${value}` }
}

/** The status of the first page for a browser with these cookies. */
export async function opens (app: FastifyInstance, cookie?: string, url = '/ad/'): Promise<number> {
  return (await app.inject({ url, headers: cookie === undefined ? {} : { cookie } })).statusCode
}
