import { randomBytes, randomUUID } from 'node:crypto'
import { SCOPES } from '#schemas/api-key.ts'
import { device } from '#test/identity/factors/device.ts'
import { pngOf } from '#test/services/images/hostile.ts'
import { allowed, ask, bearer, guardedOperations, mintKey, person, signIn, type Credentials } from '../requests.ts'
import type { Scenario, Shown } from '../scenario.ts'
import { fillBookings, onTarget, type Target } from '../target.ts'

/* Attacks on rights. Each tries many credentials, and counts those that give access. */

const MANY = { RATE_LIMIT_LOGIN_MAX: '1000' }

function access (name: string, attack: (target: Target) => Promise<Shown>, environ = {}): Scenario {
  return { name, run: async () => await onTarget({ ...MANY, ...environ }, attack) }
}

const APP = 'com.example.locanda://auth/arrivo'
const ROLES = [
  'Admin', 'admin ', 'amministratore', 'service_role', 'supabase_admin', 'authenticated', ' ', ['admin'], true
]

/** Roles that resemble an administrator's, and a role that the person wrote into their own metadata. */
export const roles = access('unknown roles', async (target) => {
  const operations = await guardedOperations(target)
  const faults: string[] = []
  for (const role of ROLES) {
    const { session } = await person(target, role)
    await ask(target, 'PUT', '/auth/v1/user', session, { data: { role: 'admin', roles: ['admin'] } })
    faults.push(...(await allowed(target, operations, session)).map((each) => `${JSON.stringify(role)}: ${each}`))
  }
  return { figures: { roles: ROLES.length, requests: ROLES.length * operations.length, opened: faults.length }, faults }
})

/** Keys of an administrator with one scope each. Each operation needs one scope, so no two keys may use the same. */
export const scopes = access('keys beyond their scopes', async (target) => {
  const { session } = await person(target, 'admin')
  const operations = await guardedOperations(target)
  const open: Record<string, string[]> = {}
  for (const scope of SCOPES) {
    const { credentials } = await mintKey(target, session, `?scopes=${scope}`)
    open[scope] = await allowed(target, operations, credentials)
  }
  const all = Object.values(open).flat()
  const changing = open.lettura!.filter((operation) => /^(?:PUT|PATCH|DELETE) (?!\/api\/v1\/keys\/)/.test(operation))
  return {
    figures: {
      requests: operations.length * SCOPES.length,
      ...Object.fromEntries(SCOPES.map((scope) => [scope, open[scope]!.length])),
      'opened by two': all.length - new Set(all).size,
      'changed by reading': changing.length
    },
    faults: [...changing, ...all.filter((operation, at) => all.indexOf(operation) !== at)]
  }
})

/** A session of the password that the first start prints. */
export const firstPassword = access('the printed first password', async (target) => {
  await target.sql`update users set password_printed = true where email = ${target.env.ADMIN_EMAIL!}`
  const { answer: { access_token: token } } = await signIn(target, target.env.ADMIN_EMAIL!, target.env.ADMIN_PASSWORD)
  const operations = await guardedOperations(target)
  const faults = await allowed(target, operations, bearer(token))
  const other = { password: randomBytes(16).toString('hex') }
  const { status } = await ask(target, 'PUT', '/auth/v1/user', bearer(token), other)
  return {
    figures: { requests: operations.length, opened: faults.length, 'new password': status },
    faults: [...faults, ...(status === 200 ? [] : ['the password cannot be replaced'])]
  }
})

/** Links to a guest's document, after the end of the credential that created them. */
export const links = access('links that outlive their credential', async (target) => {
  const service = bearer(target.serviceKey)
  await fillBookings(target.sql, 1)
  const base64Image = pngOf(64, 48, 8, 0).toString('base64')
  await ask(target, 'POST', '/api/documents/upload', service, {
    booking_id: 1, guest_idx: 0, side: 'front', base64Image, ext: 'png'
  })
  const ends: Record<string, (owner: Awaited<ReturnType<typeof person>>) => Promise<unknown>> = {
    session: ({ session }) => ask(target, 'POST', '/auth/v1/logout', session, {}),
    key: ({ session, key: { id } }) => ask(target, 'DELETE', `/api/v1/keys/${id}`, session),
    ban: ({ id }) => ask(target, 'PUT', `/auth/v1/admin/users/${id}`, service, { ban_duration: '1h' }),
    role: ({ id }) => ask(target, 'PUT', `/auth/v1/admin/users/${id}`, service, { app_metadata: { role: 'pending' } }),
    person: ({ id }) => ask(target, 'DELETE', `/auth/v1/admin/users/${id}`, service)
  }
  const [before, after]: [number[], number[]] = [[], []]
  for (const [way, end] of Object.entries(ends)) {
    const owner = await person(target)
    const credentials: Credentials = way === 'key' ? owner.key.credentials : owner.session
    const { answer: { signedURL } } = await ask<{ signedURL: string }>(
      target, 'POST', '/storage/v1/object/sign/documents/1/0/front.png', credentials, { expiresIn: 60 }
    )
    const read = async () => (await ask(target, 'GET', `/storage/v1${signedURL}`)).status
    before.push(await read())
    await end(owner)
    after.push(await read())
  }
  return {
    figures: { links: before.length, 'opened before': succeeded(before), 'opened after': succeeded(after) },
    faults: [
      ...(succeeded(before) === before.length ? [] : [`answers before ${before.join()}`]),
      ...(succeeded(after) === 0 ? [] : [`answers after ${after.join()}`])
    ]
  }
})

/** Redirects to an app with a private URL scheme, which other apps of a device may register too. */
export const schemes = access('apps with a private URL scheme', async (target) => {
  const owner = await person(target)
  const redirects = [APP, APP.replace('com', 'COM'), `${APP}#a`, 'javascript:alert(1)', 'data:text/html,a', 'intent://x']
  const locations: string[] = []
  for (const redirect_to of redirects) {
    const query = new URLSearchParams({ redirect_to })
    const authorize = `/auth/v1/authorize?provider=github&${query}`
    locations.push((await ask(target, 'GET', authorize)).location)
    for (const type of ['magiclink', 'recovery']) {
      const { answer: { action_link: link } } = await ask<{ action_link: string }>(
        target, 'POST', `/auth/v1/admin/generate_link?${query}`, bearer(target.serviceKey), { type, email: owner.email }
      )
      const { pathname, search } = new URL(link)
      locations.push((await ask(target, 'GET', pathname + search)).location)
    }
  }
  const foreign = locations.filter((location) => location !== '' && !location.startsWith('https:'))
  const leaks = foreign.filter((location) => /token=|[?&#]code=/.test(location))
  return {
    figures: { requests: locations.length, 'to an app': foreign.length, 'with a token': leaks.length },
    faults: [...leaks, ...foreign.filter((location) => !location.startsWith('com.example.locanda:'))]
  }
}, {
  REDIRECT_URLS: APP,
  OAUTH_PROVIDERS: JSON.stringify([{ name: 'github', client_id: 'locanda', client_secret: 'segreto' }])
})

/** A passkey of one person, presented with the user handle of another. */
export const handles = access('passkeys with a foreign user handle', async (target) => {
  const [owner, other] = [await person(target), await person(target, 'admin')]
  const { create, prove } = device('https://locanda.example')
  const options = async (way: string) => (await ask<{ challenge_id: string, options: { challenge: string } }>(
    target, 'POST', `/auth/v1/passkeys/${way}/options`, owner.session, {}
  )).answer
  const begun = await options('registration')
  await ask(target, 'POST', '/auth/v1/passkeys/registration/verify', owner.session, {
    challenge_id: begun.challenge_id, credential: create(begun.options.challenge)
  })
  const present = async (userHandle: unknown) => {
    const { challenge_id, options: { challenge } } = await options('authentication')
    const proof = prove(challenge)
    const credential = { ...proof, response: { ...proof.response, userHandle } }
    const body = { challenge_id, credential }
    return (await ask(target, 'POST', '/auth/v1/passkeys/authentication/verify', {}, body)).status
  }
  const encoded = (text: string) => Buffer.from(text).toString('base64url')
  const foreign = [encoded(other.id), encoded(randomUUID()), encoded(owner.id.toUpperCase()), '', 7, [], {}, true]
  const statuses: number[] = []
  for (const handle of foreign) statuses.push(await present(handle))
  const own = await present(encoded(owner.id))
  return {
    figures: { handles: foreign.length, 'signed in': succeeded(statuses), own },
    faults: [
      ...(succeeded(statuses) === 0 ? [] : [`answers ${statuses.join()}`]),
      ...(own === 200 ? [] : ['the own handle is refused'])
    ]
  }
})

function succeeded (statuses: readonly number[]): number {
  return statuses.filter((status) => status < 400).length
}
