import t, { type Test } from 'tap'
import type { Directory } from '#src/identity/directory.ts'
import { testDatabase } from '#test/database.ts'
import { serverProcess } from '#test/server-process.ts'
import { openClient, tokensOf } from './client.ts'
import { freePort } from '#test/free-port.ts'

const ADMIN = { email: 'ada@example.org', password: 'la-frase-di-chi-comanda' }
const OPERATOR = { email: 'piero@example.org', password: 'la-frase-di-chi-lavora' }

/** A server as `npm start` runs it: nothing but its environment. */
async function started (t: Test) {
  const { url: DATABASE_URL } = await testDatabase(t)
  const port = await freePort()
  const server = serverProcess(t, {
    DATABASE_URL,
    PORT: String(port),
    ADMIN_EMAIL: ADMIN.email,
    ADMIN_PASSWORD: ADMIN.password
  })
  const base = await server.ready
  const clientConfig = await (await fetch(`${base}/api/config`)).json() as Directory['clientConfig']
  return { server, base, clientConfig }
}

t.test(
  'the official client works with a started server and its public configuration, from sign-in to sign-out',
  async (t) => {
    const { server, base, clientConfig } = await started(t)
    t.same([Object.keys(clientConfig), clientConfig.backendUrl], [['backendUrl', 'backendKey'], base])
    const call = async (path: string, access: string, body?: object) =>
      await fetch(base + path, {
        method: body ? 'POST' : 'GET',
        headers: { authorization: `Bearer ${access}`, 'content-type': 'application/json' },
        ...(body ? { body: JSON.stringify(body) } : {})
      })

    const ada = openClient(t, clientConfig)
    t.match((await ada.auth.signInWithPassword({ ...ADMIN, password: 'sbagliata' })).error, {
      code: 'invalid_credentials'
    })
    t.equal((await ada.auth.signInWithPassword(ADMIN)).error, null)
    t.match((await ada.auth.getUser()).data.user, { email: ADMIN.email, app_metadata: { role: 'admin' } })
    t.match((await ada.auth.getClaims()).data?.claims, { iss: `${base}/auth/v1`, email: ADMIN.email })
    const admin = await tokensOf(ada)
    t.equal((await call('/api/operators', admin.access, { ...OPERATOR, name: 'Piero', surname: 'Neri' })).status, 200)

    const [here, there] = [openClient(t, clientConfig), openClient(t, clientConfig)]
    for (const { auth } of [here, there]) t.equal((await auth.signInWithPassword(OPERATOR)).error, null)
    const { access } = await tokensOf(here)
    t.equal((await call('/api/v1/prenotazioni', access)).status, 200)
    t.equal((await call('/api/operators', access)).status, 403)
    t.same((await here.auth.updateUser({ data: { lingua: 'it' } })).data.user?.user_metadata, {
      name: 'Piero',
      surname: 'Neri',
      lingua: 'it'
    })
    t.equal((await here.auth.refreshSession()).error, null)
    t.equal(((await (await call('/api/sessions', access)).json()) as object[]).length, 2)
    t.same(await here.auth.signOut(), { error: null })
    t.equal((await call('/api/v1/prenotazioni', access)).status, 401)
    t.match((await there.auth.getUser()).error, { name: 'AuthSessionMissingError' })

    const served = openClient(t, clientConfig, { authorization: `Bearer ${admin.access}` })
    const { data } = await served.auth.admin.listUsers()
    t.same(
      data.users.map(({ email }) => email),
      [OPERATOR.email, ADMIN.email]
    )
    t.equal((await served.auth.admin.deleteUser(data.users[0]!.id)).error, null)
    t.match((await openClient(t, clientConfig).auth.signInWithPassword(OPERATOR)).error, {
      code: 'invalid_credentials'
    })

    server.signal('SIGTERM')
    t.equal(await server.exit, 0)
    t.notMatch(
      JSON.stringify(server.logs) + server.errors(),
      new RegExp([ADMIN.password, OPERATOR.password, admin.access, admin.refresh, access, OPERATOR.email].join('|'))
    )
  }
)
