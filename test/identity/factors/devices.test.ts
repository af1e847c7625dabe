import { randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { build } from '#test/helper.ts'
import { as, bearer, isLetIn } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { device, type Device } from './device.ts'

const PUBLIC_URL = 'https://locanda.example'

interface Answer { id: string, challenge_id: string, options: { challenge: string }, error_code?: string }

async function post (app: FastifyInstance, token: string, path: string, payload: object) {
  const answer = await as(app, token, 'POST', `/auth/v1${path}`, payload)
  return { status: answer.statusCode, body: answer.json<Answer>() }
}

/** Registers a passkey with a device. */
async function register (app: FastifyInstance, token: string, { create }: Device) {
  const { body: { challenge_id, options } } = await post(app, token, '/passkeys/registration/options', {})
  const credential = create(options.challenge)
  return await post(app, token, '/passkeys/registration/verify', { challenge_id, credential })
}

/** Enrols a device as a second factor. */
async function enrol (app: FastifyInstance, token: string, { create }: Device) {
  const { body: { id } } = await post(app, token, '/factors', { factor_type: 'webauthn' })
  const { body } = await post(app, token, `/factors/${id}/challenge`, {})
  const { webauthn } = body as unknown as {
    webauthn: { credential_options: { publicKey: { challenge: string } } }
  }
  const credential_response = create(webauthn.credential_options.publicKey.challenge)
  const proof = { challenge_id: body.id, webauthn: { type: 'create', credential_response } }
  return await post(app, token, `/factors/${id}/verify`, proof)
}

t.test('a credential id is at most 1,023 bytes long: a longer one is refused plainly', async (t) => {
  const { app, token } = await build(t, { PUBLIC_URL })
  for (const add of [register, enrol]) {
    const somebody = await token({ name: add.name })
    for (const length of [1024, 3000, 65_000]) {
      const { status, body } = await add(app, somebody, device(PUBLIC_URL, { credentialId: randomBytes(length) }))
      t.same([status, body.error_code], [400, 'validation_failed'], `${add.name}: ${length}`)
    }
    const { status } = await add(app, somebody, device(PUBLIC_URL, { credentialId: randomBytes(1023) }))
    t.equal(status, 200, add.name)
  }
})

t.test('of the ways to a device only short words are kept, and ten at most', async (t) => {
  const { app, token } = await build(t, { PUBLIC_URL })
  const somebody = await token()
  const kept = async (transports: unknown) => {
    const { status } = await register(app, somebody, device(PUBLIC_URL, { transports }))
    const [row] = await app.sql`select transports from webauthn_credentials order by created_at desc limit 1`
    return [status, row?.transports]
  }
  t.same(await kept(['usb', 'smart-card']), [200, ['usb', 'smart-card']])
  t.same(await kept(['usb', 'x'.repeat(33), 'a\u0000b', '', 7, null]), [200, ['usb']])
  t.same(await kept(Array.from({ length: 1000 }, (_, at) => `modo${at}`)), [
    200, Array.from({ length: 10 }, (_, at) => `modo${at}`)
  ])
  t.same(await kept('usb'), [200, []])
})

t.test('a stranger’s credential with a name that no database holds is refused plainly', async (t) => {
  const { app, token } = await build(t, { PUBLIC_URL })
  const somebody = await token()
  const { body } = await post(app, somebody, '/passkeys/authentication/options', {})
  const credential = { ...device(PUBLIC_URL).prove(body.options.challenge), id: 'a\u0000b', rawId: 'a\u0000b' }
  const answer = await post(app, somebody, '/passkeys/authentication/verify', {
    challenge_id: body.challenge_id, credential
  })
  t.ok(answer.status < 500, String(answer.status))
})

t.test('a passkey that is removed ends the sessions that passkeys began, and no others', async (t) => {
  const { app, token } = await build(t, { PUBLIC_URL })
  const [anna, service] = [await token({ name: 'anna' }), await token({ service: true })]
  const { sub: userId } = claimsOf(anna)
  const key = device(PUBLIC_URL)
  const signIn = async () => {
    const { body: { challenge_id, options } } = await post(app, anna, '/passkeys/authentication/options', {})
    const credential = key.prove(options.challenge)
    const { body } = await post(app, anna, '/passkeys/authentication/verify', { challenge_id, credential })
    return (body as unknown as { access_token: string }).access_token
  }
  const standing = async (...tokens: string[]) => await Promise.all(tokens.map((each) => isLetIn(app, bearer(each))))
  const { body: { id } } = await register(app, anna, key)
  const [own, stolen] = [await signIn(), await signIn()]
  t.same(await standing(anna, own, stolen), [200, 200, 200])
  t.equal((await as(app, own, 'DELETE', `/auth/v1/passkeys/${id}`)).statusCode, 204)
  t.same(await standing(anna, own, stolen), [200, 200, 401], 'the one that asks goes on')
  const audited = () => app.sql`
    select details from audit_log where action = 'passkey_eliminata' order by id desc limit 1`
  t.match(await audited(), [{ details: { revoked: 1 } }])

  const { body: { id: second } } = await register(app, anna, key)
  const another = await signIn()
  const url = `/auth/v1/admin/users/${userId}/passkeys/${second}`
  t.equal((await as(app, service, 'DELETE', url)).statusCode, 204)
  t.same(await standing(anna, own, another), [200, 401, 401], 'an administrator ends them all')
  t.match(await audited(), [{ details: { user: userId, revoked: 2 } }])
})
