import { randomBytes } from 'node:crypto'
import t from 'tap'
import { Closed } from '#schemas/common.ts'
import { API_KEY, build, extraRoutes } from '#test/helper.ts'
import { bearer } from '#test/identity/requests.ts'
import { workshop } from './forge.ts'
import { forgedTokens } from './forged-tokens.ts'
import { checkGuards } from './matrix.ts'

const master = randomBytes(32)
const SOMEWHERE = '/api/v1/paesi'

t.test('every route accepts exactly its callers, with any credential and any spelling of the URL', checkGuards)

t.test('forged tokens', async (t) => {
  let reached = 0
  const { app } = await build(
    t,
    { MASTER_KEY: master.toString('base64'), PUBLIC_URL: 'https://locanda.example' },
    extraRoutes((app) => {
      app.get('/prova/admin', { config: { access: 'admin' }, schema: { response: { 200: Closed({}) } } }, async () => {
        reached++
        return {}
      })
    })
  )
  const shop = await workshop(app, master)
  const forged = Object.entries(forgedTokens(shop, master))
  const status = async (token: string, url = SOMEWHERE, extra = {}) =>
    (await app.inject({ url, headers: { ...bearer(token), ...extra } })).statusCode

  t.test('the unaltered tokens are valid, so each forged one is refused for its own error', async (t) => {
    t.equal(await status(shop.person()), 200)
    t.equal(await status(shop.victim.access_token), 200)
    t.equal(await status(shop.machine()), 200)
    t.equal(await status(shop.machine({ claims: { role: 'supabase_admin' } }), '/prova/admin'), 200)
    t.equal(await status(shop.person({ claims: { aud: ['authenticated'] } })), 200,
      'a list of audiences with this one in it (RFC 7519, 4.1.3)')
    t.equal(reached, 1)
  })

  t.test('every forged token is refused by the API, by a route for administrators and by the provider', async (t) => {
    t.ok(forged.length >= 60, `${forged.length} forged tokens`)
    for (const [name, token] of forged) {
      t.equal(await status(token), 401, name)
      t.equal(await status(token, '/prova/admin'), 401, `${name}, to an administrator's route`)
      t.ok([401, 403].includes(await status(token, '/auth/v1/user')), `${name}, to the provider`)
    }
    t.equal(reached, 1)
  })

  t.test('sixty forged tokens are refused again, even together with a valid key', async (t) => {
    t.equal(await status(shop.victim.access_token), 200)
    for (const [name, token] of forged.slice(0, 60)) {
      t.equal(await status(token, SOMEWHERE, { 'x-api-key': API_KEY }), 401, name)
    }
    t.comment(`${forged.length} forged tokens, 0 accepted`)
  })

  t.test('rights that a token claims are ignored', async (t) => {
    const claims = {
      app_metadata: { role: 'admin', roles: ['admin'] },
      user_metadata: { role: 'admin', is_admin: true },
      is_admin: true,
      scope: 'admin'
    }
    t.equal(await status(shop.person({ claims })), 200, 'the token is signed and its session is active')
    t.equal(await status(shop.person({ claims }), '/prova/admin'), 403)
    t.equal(await status(shop.other.access_token, '/prova/admin'), 200, 'an administrator stays one')
  })

  t.test('refresh tokens, API keys and the anonymous key are not access tokens', async (t) => {
    const { backendKey } = (await app.inject('/api/config')).json()
    const { apiKey } = (
      await app.inject({ url: '/api/cli/auth/key', headers: bearer(shop.victim.access_token) })
    ).json()
    for (const token of [shop.victim.refresh_token, apiKey, backendKey, API_KEY]) t.equal(await status(token), 401)
    t.equal((await app.inject({ url: SOMEWHERE, headers: { 'x-api-key': apiKey } })).statusCode, 200)
    t.equal((await app.inject({ url: SOMEWHERE, headers: { 'x-api-key': shop.victim.access_token } })).statusCode,
      401, 'a token is not an API key')
  })
})
