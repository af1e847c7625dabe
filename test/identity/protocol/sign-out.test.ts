import t from 'tap'
import { isLetIn } from '#test/identity/requests.ts'
import { PASSWORD, provider, requests, tokensOf, type Client } from './client.ts'

const server = await provider(t)
const { app, open, person, signedIn } = server

const letIn = async (access: string) => await isLetIn(app, { authorization: `Bearer ${access}` })

/** Whether a client is signed in, as the server sees it. */
async function isIn ({ auth }: Client): Promise<boolean> {
  const { data, error } = await auth.getUser()
  if (error && error.name !== 'AuthSessionMissingError') throw error
  return data.user !== null
}

/** Three devices of one person, and one of somebody else. */
async function devices () {
  const anna = await person()
  return [await signedIn(anna), await signedIn(anna), await signedIn(anna), await signedIn(await person())] as const
}

t.test('signing out locally ends only this session, and its tokens at once', async (t) => {
  const [here, there, , somebody] = await devices()
  const { access, refresh } = await tokensOf(here)
  t.equal(await letIn(access), 200)
  t.same(await here.auth.signOut({ scope: 'local' }), { error: null })
  t.match(here.exchanges, [{ request: 'POST /logout?scope=local', sent: '', status: 204, answer: '' }])
  t.equal((await here.auth.getSession()).data.session, null)
  t.equal(await letIn(access), 401)
  t.match((await open().auth.getUser(access)).error, { name: 'AuthSessionMissingError' })
  t.match((await open().auth.refreshSession({ refresh_token: refresh })).error, {
    status: 400,
    code: 'refresh_token_not_found'
  })
  t.same([await isIn(there), await isIn(somebody)], [true, true])
})

t.test('signing out the others keeps only this session', async (t) => {
  const [here, there, elsewhere, somebody] = await devices()
  const tokens = await Promise.all([there, elsewhere].map(tokensOf))
  t.same(await here.auth.signOut({ scope: 'others' }), { error: null })
  for (const { access } of tokens) t.equal(await letIn(access), 401)
  t.same(await Promise.all([here, there, elsewhere, somebody].map(isIn)), [true, false, false, true])
  t.equal((await here.auth.refreshSession()).error, null)
})

t.test('signing out without a scope ends all sessions', async (t) => {
  const [here, there, elsewhere, somebody] = await devices()
  const tokens = await Promise.all([here, there, elsewhere].map(tokensOf))
  t.same(await here.auth.signOut(), { error: null })
  t.same(requests(here), ['POST /logout?scope=global'])
  for (const { access } of tokens) t.equal(await letIn(access), 401)
  t.same(await Promise.all([here, there, elsewhere, somebody].map(isIn)), [false, false, false, true])
})

t.test('a client whose session was ended elsewhere learns it at its next request, and forgets it', async (t) => {
  const [here, there] = await devices()
  await here.auth.signOut({ scope: 'others' })
  t.not((await there.auth.getSession()).data.session, null, 'it does not know yet')
  t.match(await there.auth.getUser(), { data: { user: null }, error: { name: 'AuthSessionMissingError' } })
  t.match(there.exchanges.at(-1), { request: 'GET /user', status: 403 })
  t.equal((await there.auth.getSession()).data.session, null)
  t.equal(there.events.at(-1), 'SIGNED_OUT')
  t.equal(there.storage.size, 0)
})

t.test('signing out of a session that has ended is no error for the client', async (t) => {
  const [here, there] = await devices()
  await here.auth.signOut({ scope: 'others' })
  t.same(await there.auth.signOut(), { error: null })
  t.match(there.exchanges, [{ request: 'POST /logout?scope=global', status: 403 }])
  t.equal((await there.auth.getSession()).data.session, null)
  t.equal(await isIn(here), true)
})

t.test('listeners get the events in the order in which they happen', async (t) => {
  const anna = await person()
  const { auth, events } = open()
  await auth.getSession()
  await auth.signInWithPassword({ email: anna.email, password: PASSWORD })
  await auth.refreshSession()
  await auth.updateUser({ data: { name: 'Anna' } })
  await auth.signOut()
  t.same(events, ['INITIAL_SESSION', 'SIGNED_IN', 'TOKEN_REFRESHED', 'USER_UPDATED', 'SIGNED_OUT'])
})
