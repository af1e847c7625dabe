import { createHash, randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { serve } from '#test/loopback.ts'
import { readForm } from './openid-provider.ts'

const GITHUB_CLIENT = { client_id: 'Iv1.prova', client_secret: 'segreto-github' }

export interface GitHub {
  /** The fields of `OAUTH_PROVIDERS`. */
  settings: Record<string, string>
  user: Record<string, unknown>
  /** The person's addresses. Undefined when the person has not granted access. */
  emails: Record<string, unknown>[] | undefined
  /** Paths that were requested with a token. */
  asked: string[]
}

/**
 * A server with GitHub's protocol: errors with status 200, comma-separated scopes, no ID token, and an API that
 * requires a `User-Agent` (https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps).
 */
export async function startGitHub (t: Test): Promise<GitHub> {
  const codes = new Map<string, { challenge: string | null, redirectUri: string | null }>()
  const tokens = new Set<string>()
  const state: GitHub = {
    settings: {},
    user: { id: 583231, login: 'rosa', name: 'Rosa Verdi', avatar_url: 'https://avatars.example/u/583231' },
    emails: [],
    asked: []
  }

  const { url } = await serve(t, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const json = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
    }

    function authorize (): void {
      const code = randomUUID().replaceAll('-', '').slice(0, 20)
      codes.set(code, { challenge: searchParams.get('code_challenge'), redirectUri: searchParams.get('redirect_uri') })
      const back = new URL(searchParams.get('redirect_uri')!)
      back.searchParams.set('code', code)
      back.searchParams.set('state', searchParams.get('state')!)
      response.writeHead(302, { location: back.href }).end()
    }

    async function exchange (): Promise<void> {
      const {
        code = '',
        code_verifier: verifier = '',
        redirect_uri: redirectUri,
        client_id,
        client_secret
      } = Object.fromEntries(await readForm(request))
      const begun = codes.get(code)
      codes.delete(code)
      const isProven =
        begun?.challenge === createHash('sha256').update(verifier).digest('base64url') &&
        begun.redirectUri === redirectUri
      const isClient = client_id === GITHUB_CLIENT.client_id && client_secret === GITHUB_CLIENT.client_secret
      if (request.headers.accept !== 'application/json') return json(200, {})
      if (!isProven || !isClient) {
        return json(200, {
          error: 'bad_verification_code',
          error_description: 'The code passed is incorrect or expired.'
        })
      }
      const token = `gho_${randomUUID()}`
      tokens.add(token)
      json(200, { access_token: token, token_type: 'bearer', scope: 'read:user,user:email' })
    }

    function api (): void {
      state.asked.push(pathname)
      if (request.headers['user-agent'] === undefined) {
        return json(403, { message: 'Request forbidden by administrative rules.' })
      }
      if (!tokens.has((request.headers.authorization ?? '').replace(/^Bearer /i, ''))) {
        return json(401, { message: 'Bad credentials' })
      }
      if (pathname === '/user') return json(200, state.user)
      if (pathname === '/user/emails' && state.emails) return json(200, state.emails)
      json(404, { message: 'Not Found' })
    }

    if (pathname === '/login/oauth/authorize') authorize()
    else if (pathname === '/login/oauth/access_token') {
      exchange().catch((err: unknown) => t.fail('the stand-in failed', { err }))
    } else api()
  })
  return Object.assign(state, {
    settings: {
      name: 'github',
      ...GITHUB_CLIENT,
      authorization_endpoint: `${url}/login/oauth/authorize`,
      token_endpoint: `${url}/login/oauth/access_token`,
      userinfo_endpoint: `${url}/user`
    }
  })
}
