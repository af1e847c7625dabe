import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { eq } from 'drizzle-orm'
import t, { type Test } from 'tap'
import { flow_states, users } from '#drizzle/tables/identity.ts'
import { cached } from '#src/identity/oauth/openid.ts'
import { fetchFromProvider } from '#src/identity/oauth/fetch-from-provider.ts'
import { githubClient } from '#src/identity/oauth/github.ts'
import { openidClient } from '#src/identity/oauth/openid.ts'
import { type CrookedProvider, startCrookedProvider } from './crooked-provider.ts'
import { serve } from '#test/loopback.ts'
import { CLIENT } from './openid-provider.ts'
import { anew, fragment, LANDING, setting, type Setting, SIGNUP } from './setting.ts'

interface Crooked extends Setting {
  crooked: CrookedProvider
  /** The cookies of all started flows. */
  cookies: string[]
  /** Starts a flow. Returns the parameters for the provider. */
  depart (more?: Record<string, string>): Promise<URLSearchParams>
  /** Returns from the provider. The result is the URL of the browser's redirect. */
  comeBack (parameters: Record<string, string>): Promise<URL>
}

async function crookedSetting (t: Test): Promise<Crooked> {
  const crooked = await startCrookedProvider(t)
  const all = await setting(t, SIGNUP, { providers: [{ name: 'torto', issuer: crooked.issuer, ...CLIENT }] })
  const cookies: string[] = []
  const leave = async (path: string) => {
    const headers = { cookie: cookies.join('; ') }
    const response = await fetch(`${all.base}/auth/v1${path}`, { redirect: 'manual', headers })
    if (path.startsWith('/authorize')) {
      cookies.push(...response.headers.getSetCookie().map((line) => line.split(';')[0]!))
    }
    return new URL(response.headers.get('location')!)
  }
  return {
    ...all,
    crooked,
    async depart (more = {}) {
      const { searchParams } = await leave(
        `/authorize?${new URLSearchParams({ provider: 'torto', redirect_to: LANDING, ...more }).toString()}`
      )
      crooked.nonce = searchParams.get('nonce') ?? ''
      return searchParams
    },
    cookies,
    comeBack: async (parameters) => await leave(`/callback?${new URLSearchParams(parameters).toString()}`)
  }
}

/** The error in a landing URL, which must be the same in the query and in the fragment. */
function problemAt (t: Test, url: URL): Record<string, string> {
  const problem = Object.fromEntries(['error', 'error_code', 'error_description'].flatMap((name) => {
    const value = url.searchParams.get(name)
    return value === null ? [] : [[name, value]]
  }))
  t.strictSame(Object.fromEntries(fragment(url)), { ...problem, sb: '' }, 'the same in fragment and query')
  t.notOk(url.searchParams.has('code'))
  return problem
}

const UNUSABLE = {
  error: 'server_error', error_code: 'unexpected_failure', error_description: 'Unable to exchange external code'
}
const UNREACHABLE = {
  error: 'temporarily_unavailable',
  error_code: 'unexpected_failure',
  error_description: 'The external provider cannot be reached'
}
const NO_STATE = {
  error: 'invalid_request', error_code: 'bad_oauth_state', error_description: 'OAuth callback with invalid state'
}

/** The default responses of the crooked provider. */
const good = () => (
  { claims: {}, header: {}, foreignKey: false, tokens: {}, userinfo: {}, replies: {}, metadata: {} })

const shared = await crookedSetting(t)

/** Deletes the users of earlier tests, and resets the provider. */
async function begin (): Promise<ReturnType<typeof anew>> {
  Object.assign(shared.crooked, good())
  return await anew(shared)
}

t.test('a state is valid once, for five minutes, and only for its own code', async (t) => {
  const { app, base, cookies, crooked, depart, comeBack } = shared
  await begin()

  t.test('the authorization request contains state, nonce and PKCE, and no secret', async (t) => {
    const foreign = {
      state: 'mio', redirect_uri: 'https://evil.example', client_id: 'x', nonce: 'n', response_type: 'token'
    }
    const asked = await depart({ scopes: 'calendar openid', prompt: 'consent', ...foreign })
    t.match(Object.fromEntries(asked), {
      client_id: CLIENT.client_id,
      redirect_uri: `${base}/auth/v1/callback`,
      response_type: 'code',
      scope: 'openid email profile calendar',
      code_challenge_method: 'S256',
      prompt: 'consent'
    })
    t.match(asked.get('state'), /^[0-9a-f-]{36}$/)
    t.not(asked.get('nonce'), 'n')
    t.strictSame(
      asked.getAll('state').length + asked.getAll('redirect_uri').length + asked.getAll('client_id').length,
      3
    )
    const [flow] = await app.db.select().from(flow_states).where(eq(flow_states.id, asked.get('state')!))
    t.notOk(flow!.provider_secrets!.toString('latin1').includes(asked.get('nonce')!), 'sealed')
    await comeBack({ state: asked.get('state')!, code: 'abc' })
    const { code_verifier: verifier, ...form } = Object.fromEntries(crooked.forms.at(-1)!)
    t.equal(createHash('sha256').update(verifier!).digest('base64url'), asked.get('code_challenge'))
    t.strictSame(form, { grant_type: 'authorization_code', code: 'abc', redirect_uri: `${base}/auth/v1/callback` })
  })

  t.test('a replayed, unknown, malformed or missing state is refused', async (t) => {
    const state = (await depart()).get('state')!
    t.ok(fragment(await comeBack({ state, code: 'abc' })).get('access_token'))
    const asked = crooked.asked.length
    for (const other of [state, '6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11', 'x', `${state}'`, `{${state}}`]) {
      const url = await comeBack({ state: other, code: 'abc' })
      t.equal(url.origin + url.pathname, 'https://app.example/', 'home')
      t.strictSame(problemAt(t, url), NO_STATE)
    }
    t.strictSame(problemAt(t, await comeBack({ code: 'abc' })), {
      error: 'invalid_request', error_code: 'bad_oauth_callback', error_description: 'OAuth state parameter missing'
    })
    t.equal(crooked.asked.length, asked, 'the provider is not asked')
  })

  t.test('only the browser that started the flow can complete the callback', async (t) => {
    const set = (await fetch(`${base}/auth/v1/authorize?provider=torto`, { redirect: 'manual' })).headers.getSetCookie()
    t.match(set, [/^locanda_oauth_[\da-f-]{36}=[\w-]{43}; Max-Age=900; Path=\/auth\/v1\/callback; HttpOnly; SameSite=Lax$/])
    const states = [await depart(), await depart(), await depart(), await depart()].map((asked) => asked.get('state')!)
    const [first, second, third, fourth] = states as [string, string, string, string]
    const own = cookies.splice(0)
    const of = (state: string) => own.find((cookie) => cookie.includes(state))!
    const asked = crooked.asked.length
    t.strictSame(problemAt(t, await comeBack({ state: first, code: 'abc' })), NO_STATE, 'another browser')
    cookies.push(of(first).replace(first, second))
    t.strictSame(problemAt(t, await comeBack({ state: second, code: 'abc' })), NO_STATE, 'the value of another flow')
    cookies.push(of(third), `${of(third)}x`)
    t.strictSame(problemAt(t, await comeBack({ state: third, code: 'abc' })), NO_STATE, 'two cookies are rejected')
    t.equal(crooked.asked.length, asked, 'the provider is not asked')
    cookies.splice(0, Infinity, ...own)
    t.strictSame(problemAt(t, await comeBack({ state: first, code: 'abc' })), NO_STATE, 'the flow has ended')
    t.ok(fragment(await comeBack({ state: fourth, code: 'abc' })).get('access_token'), 'among other cookies')
  })

  t.test('one of several simultaneous callbacks with the same state succeeds', async (t) => {
    const state = (await depart()).get('state')!
    const landed = await Promise.all([1, 2, 3, 4].map(async () => await comeBack({ state, code: 'abc' })))
    t.equal(landed.filter((url) => fragment(url).has('access_token')).length, 1)
  })

  t.test('a state expires after five minutes', async (t) => {
    const state = (await depart()).get('state')!
    await app.db.update(flow_states).set({ created_at: new Date(Date.now() - 300_000) })
      .where(eq(flow_states.id, state))
    const asked = crooked.asked.length
    const url = await comeBack({ state, code: 'abc' })
    t.equal(url.origin + url.pathname, 'https://app.example/arrivo')
    t.strictSame(problemAt(t, url),
      { error: 'server_error', error_code: 'flow_state_expired', error_description: 'Flow state has expired' })
    t.equal(crooked.asked.length, asked, 'the provider is not asked')
    t.strictSame(problemAt(t, await comeBack({ state, code: 'abc' })), NO_STATE)
  })

  t.test('an ID token with the nonce of another flow is refused', async (t) => {
    const mine = (await depart()).get('state')!
    await depart()
    // The provider's response now belongs to the second flow.
    t.strictSame(problemAt(t, await comeBack({ state: mine, code: 'abc' })), UNUSABLE)
  })

  t.test('the state of a flow whose code is not exchanged yet is refused', async (t) => {
    const challenge = { code_challenge: 'a'.repeat(43), code_challenge_method: 's256' }
    const state = (await depart(challenge)).get('state')!
    const url = await comeBack({ state, code: 'abc' })
    t.ok(url.searchParams.get('code'))
    t.strictSame(problemAt(t, await comeBack({ state, code: 'abc' })), NO_STATE)
    const exchange = async (verifier: string) =>
      await app.inject({
        method: 'POST',
        url: '/auth/v1/token?grant_type=pkce',
        payload: { auth_code: url.searchParams.get('code'), code_verifier: verifier }
      })
    const wrong = await exchange('b'.repeat(43))
    t.equal(wrong.statusCode, 400)
    t.equal(wrong.json().error_code, 'bad_code_verifier')
    t.equal((await exchange('a'.repeat(43))).statusCode, 400, 'the challenge is a digest')
  })
})

t.test('an ID token for another client, another time or from another issuer is refused', async (t) => {
  const { app, crooked, depart, comeBack, logs } = shared
  const done = await begin()
  const before = logs.length
  const now = Math.floor(Date.now() / 1000)
  const cases: Record<string, Partial<CrookedProvider>> = {
    'another nonce': { claims: { nonce: 'un-altro' } },
    'no nonce': { claims: { nonce: undefined } },
    'another audience': { claims: { aud: 'altri' } },
    'us among others, for somebody else': { claims: { aud: [CLIENT.client_id, 'altri'], azp: 'altri' } },
    'another issuer': { claims: { iss: 'https://evil.example' } },
    expired: { claims: { exp: now - 60 } },
    'without an end': { claims: { exp: undefined } },
    'not yet': { claims: { nbf: now + 600 } },
    'without a subject': { claims: { sub: undefined } },
    'an endless subject': { claims: { sub: 'x'.repeat(300) } },
    'a subject that the database cannot hold': { claims: { sub: 'a\u0000b' } },
    'an unpublished key': { foreignKey: true },
    'an unknown key': { header: { kid: 'due' } },
    unsigned: { header: { alg: 'none' } },
    'no ID token': { tokens: { id_token: undefined } },
    'no access token': { tokens: { access_token: undefined } },
    'not a token': { tokens: { id_token: 'x.y.z' } },
    'userinfo of somebody else': {
      claims: { email: undefined },
      userinfo: { sub: 'un-altro', email: 'rosa@example.org', email_verified: true }
    }
  }
  for (const [name, change] of Object.entries(cases)) {
    const state = (await depart()).get('state')!
    Object.assign(crooked, good(), change)
    const url = await comeBack({ state, code: 'codice-segreto-1234' })
    t.strictSame(problemAt(t, url), UNUSABLE, name)
  }
  t.equal(await app.db.$count(users), 0)
  t.equal(await app.db.$count(flow_states), 0, 'nothing remains')
  t.strictSame(await done(), [])
  const written = logs.slice(before).filter(({ msg }) => msg === 'a sign-in through a provider failed')
  t.equal(written.length, Object.keys(cases).length)
  t.ok(
    written.every(({ provider, reason, level }) => provider === 'torto' && typeof reason === 'string' && level === 40)
  )

  Object.assign(crooked, good())
  const state = (await depart()).get('state')!
  t.ok(fragment(await comeBack({ state, code: 'abc' })).get('access_token'), 'a valid token is accepted')
})

t.test('the provider’s own refusal is passed on', async (t) => {
  const { crooked, depart, comeBack, browser, provider, base } = shared
  await begin()
  const state = (await depart()).get('state')!
  t.strictSame(problemAt(t, await comeBack({ state, error: 'login_required', error_description: 'Chi è?' })),
    { error: 'login_required', error_description: 'Chi è?' })
  t.strictSame(problemAt(t, await comeBack({ state, code: 'abc' })), NO_STATE, 'the flow has ended')
  const empty = (await depart()).get('state')!
  t.match(problemAt(t, await comeBack({ state: empty })), { error_code: 'bad_oauth_callback' })
  const denied = (await depart()).get('state')!
  crooked.replies['/token'] = (_request, response) => {
    response.writeHead(400, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error: 'invalid_grant', error_description: 'codice sbagliato' }))
  }
  t.strictSame(problemAt(t, await comeBack({ state: denied, code: 'inventato' })), UNUSABLE,
    'a code that is not the provider’s')
  provider.refuses = true
  const { url } = await browser().go(
    `${base}/auth/v1/authorize?provider=google&redirect_to=${encodeURIComponent(LANDING)}`
  )
  t.strictSame(problemAt(t, url), { error: 'access_denied', error_description: 'La persona non vuole' },
    'a real provider’s')
})

t.test('an unreachable provider causes an error redirect, and never a 500', async (t) => {
  const { app, base, crooked, depart, comeBack, token } = await crookedSetting(t)
  const broken: Record<string, CrookedProvider['replies'][string]> = {
    'a 500': (_request, response) => { response.writeHead(500).end('<h1>guasto</h1>') },
    'a 503': (_request, response) => { response.writeHead(503).end() },
    'a hang-up': (request) => { request.socket.destroy() },
    'half an answer': (request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
        .write('{"access_token":', () => request.socket.destroy())
    },
    'an endless answer': (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const pour = () => { while (response.writable && response.write('a'.repeat(64 * 1024))); }
      response.on('drain', pour)
      pour()
    }
  }
  const useless: typeof broken = {
    'a page': (_request, response) => { response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>ciao</h1>') },
    'no JSON': (_request, response) => { response.writeHead(200, { 'content-type': 'application/json' }).end('{') },
    'a list': (_request, response) => { response.writeHead(200, { 'content-type': 'application/json' }).end('[]') },
    nothing: (_request, response) => { response.writeHead(200).end() },
    'a redirect': (_request, response) => { response.writeHead(307, { location: `${crooked.issuer}/altrove` }).end() },
    'a 404': (_request, response) => { response.writeHead(404).end() }
  }
  const repliesWith = (replies: typeof broken, problem: Record<string, string>) => (
    Object.entries(replies).map(([name, reply]) => [name, reply, problem] as const))
  const all = [...repliesWith(broken, UNREACHABLE), ...repliesWith(useless, UNUSABLE)]

  t.test('metadata that cannot be fetched cause an error redirect', async (t) => {
    const session = await token({ name: 'piero' })
    for (const [name, reply, problem] of all) {
      crooked.replies = { '/.well-known/openid-configuration': reply }
      const response = await fetch(
        `${base}/auth/v1/authorize?provider=torto&redirect_to=${encodeURIComponent(LANDING)}`,
        { redirect: 'manual' }
      )
      t.equal(response.status, 302, name)
      const url = new URL(response.headers.get('location')!)
      t.equal(url.origin + url.pathname, 'https://app.example/arrivo')
      t.strictSame(problemAt(t, url), problem)
      const headers = { authorization: `Bearer ${session}` }
      const linking = await fetch(`${base}/auth/v1/user/identities/authorize?provider=torto&skip_http_redirect=true`, {
        headers
      })
      t.equal(linking.status, 503)
      t.match(await linking.json(), { error_code: 'unexpected_failure', msg: problem.error_description })
    }
    t.equal(await app.db.$count(flow_states), 0, 'no flow was started')
    t.notOk(crooked.asked.includes('/altrove'), 'redirects are not followed')
  })

  t.test('metadata with unsafe endpoints cause an error redirect', async (t) => {
    crooked.replies = {}
    const elsewhere = [
      'http://evil.example/auth', 'javascript:alert(1)', 'ftp://127.0.0.1/', 'https://a:b@evil.example/', '', 7,
      undefined
    ]
    const all = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'].flatMap((name) =>
      elsewhere.map((address) => ({ [name]: address }))
    )
    for (const metadata of [{ issuer: 'https://evil.example' }, ...all]) {
      crooked.metadata = metadata
      const response = await fetch(`${base}/auth/v1/authorize?provider=torto`, { redirect: 'manual' })
      t.strictSame(problemAt(t, new URL(response.headers.get('location')!)), UNUSABLE, JSON.stringify(metadata))
    }
    crooked.metadata = {}
  })

  t.test('a failure at the token, key or userinfo endpoint causes an error redirect', async (t) => {
    // The keys are tested first, because they are cached after a fetch.
    for (const path of ['/jwks', '/token', '/userinfo']) {
      crooked.claims = path === '/userinfo' ? { email: undefined } : {}
      for (const [name, reply, problem] of all) {
        crooked.replies = {}
        const state = (await depart()).get('state')!
        crooked.replies = { [path]: reply }
        t.strictSame(problemAt(t, await comeBack({ state, code: 'abc' })), problem, `${path}: ${name}`)
      }
    }
    t.notOk(crooked.asked.includes('/altrove'), 'redirects are not followed')
    t.equal(await app.db.$count(users), 1, 'no other user has signed in')
  })
})

t.test('a callback that the provider posts as a form has the same effect as a GET', async (t) => {
  const { app, base, depart, comeBack } = shared
  await begin()
  const post = async (body: string, type = 'application/x-www-form-urlencoded') =>
    await fetch(`${base}/auth/v1/callback`, {
      method: 'POST', redirect: 'manual', body, headers: { 'content-type': type }
    })
  const state = (await depart()).get('state')!
  t.equal((await post(`state=${state}&code=a&code=b`)).status, 400, 'the field is repeated')
  t.equal((await post(JSON.stringify({ state, code: 'abc' }), 'application/json')).status, 415, 'JSON is refused')
  t.equal((await post(`state=${state}&code=${'a'.repeat(20_000)}`)).status, 413, 'a form that is too large is refused')
  t.equal((await post(`state=${state}&code=${'a'.repeat(5000)}`)).status, 400)
  const done = await post(`state=${state}&code=abc&__proto__=x&user=%7B%7D`)
  t.equal(done.status, 303, 'the redirected browser sends its cookie')
  const { origin, pathname, searchParams } = new URL(done.headers.get('location')!)
  t.equal(origin + pathname, `${base}/auth/v1/callback`)
  t.strictSame(Object.fromEntries(searchParams), { state, code: 'abc' })
  const landed = fragment(await comeBack(Object.fromEntries(searchParams)))
  t.ok(landed.get('access_token'), 'the state is still valid')
  t.equal((await fetch(`${base}/auth/v1/callback`, { method: 'POST', redirect: 'manual' })).status, 303,
    'an empty one leads home, too')
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  t.equal((await app.inject({ method: 'POST', url: '/auth/v1/token', headers, payload: 'a=b' })).statusCode, 415,
    'other endpoints accept no form')
  t.equal((await app.inject({ method: 'HEAD', url: '/auth/v1/callback' })).statusCode, 405,
    'a HEAD request does not use up the state')
})

const GET = { method: 'GET', headers: {}, body: undefined, redirect: 'manual' } as const
const FLOW = { state: '6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11', nonce: 'n', verifier: 'v'.repeat(43) }
const MEBI = 1024 * 1024

async function reason (work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'nothing',
    (err: unknown) => (err instanceof Error && 'reason' in err ? String(err.reason) : String(err))
  )
}

t.test('a response is read to its end, and its size is limited after decompression', async (t) => {
  const { url } = await serve(t, (request, response) => {
    if (request.url === '/small') {
      return response.writeHead(200, { 'content-encoding': 'gzip', 'x-a': 'b' }).end(gzipSync('{"a":1}'))
    }
    if (request.url === '/bomb') {
      return response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(8 * MEBI)))
    }
    if (request.url === '/empty') return response.writeHead(204).end()
    if (request.url === '/away') return response.writeHead(302, { location: 'https://evil.example/' }).end()
    response.writeHead(404).end('no')
  })
  const small = await fetchFromProvider(`${url}/small`, GET)
  t.strictSame([await small.json(), small.headers.get('x-a'), small.headers.get('content-encoding')],
    [{ a: 1 }, 'b', null])
  t.equal(await reason(fetchFromProvider(`${url}/bomb`, GET)), 'too large')
  t.equal((await fetchFromProvider(`${url}/empty`, GET)).status, 204)
  t.equal((await fetchFromProvider(`${url}/away`, GET)).status, 302, 'a redirect is a response, and not followed')
  t.equal((await fetchFromProvider(`${url}/`, GET)).status, 404)
})

t.test('a provider that does not respond, or only byte by byte, times out', async (t) => {
  const { url: silent } = await serve(t, () => {})
  const settings = { name: 'oidc', ...CLIENT, issuer: silent }
  const redirectUri = 'http://127.0.0.1/auth/v1/callback'
  t.match(await reason(openidClient(settings, redirectUri, 0.05).authorizationUrl(FLOW, { parameters: {} })),
    'TimeoutError')
  const endpoints = {
    authorization_endpoint: `${silent}/a`, token_endpoint: `${silent}/t`, userinfo_endpoint: `${silent}/u`
  }
  const github = githubClient({ name: 'github', ...CLIENT, ...endpoints }, redirectUri, 0.05)
  t.equal(await reason(github.exchangeCode(FLOW, { state: FLOW.state, code: 'abc' })), 'TimeoutError')
  // Headers, and then single bytes with pauses.
  const { url: slow } = await serve(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const drip = setInterval(() => response.write(' '), 10)
    response.on('close', () => clearInterval(drip))
  })
  t.equal(
    await reason(
      openidClient({ ...settings, issuer: slow }, redirectUri, 0.05).authorizationUrl(FLOW, { parameters: {} })
    ),
    'TimeoutError'
  )
})

t.test('metadata are fetched once for all callers, cached, and used when a later fetch fails', async (t) => {
  let loads = 0
  let fails = false
  let clock = 0
  const get = cached(async () => {
    loads++
    await Promise.resolve()
    if (fails) throw new Error('no')
    return loads
  }, 1000, () => clock)

  fails = true
  await t.rejects(get(), { message: 'no' })
  fails = false
  t.strictSame(await Promise.all([get(), get(), get()]), [2, 2, 2], 'a failure is not cached')
  clock = 999
  t.equal(await get(), 2)
  clock = 1000
  t.equal(await get(), 3)
  fails = true
  clock = 5000
  t.equal(await get(), 3, 'the last value is used')
  fails = false
  clock += 59_999
  t.equal(await get(), 3)
  t.equal(loads, 4, 'for a minute no request is made')
  clock += 1
  t.equal(await get(), 5)
})
