import { randomBytes } from 'node:crypto'
import t from 'tap'
import { build } from '#test/helper.ts'
import { openClient, requests } from '#test/identity/protocol/client.ts'
import { serverProcess } from '#test/server-process.ts'
import { holder, refresh, standing, turns } from './holder.ts'
import { freePort } from '#test/free-port.ts'

t.test(
  'after a server was killed between a refresh and its answer, the client’s retry gets the current token',
  async (t) => {
    const shared = {
      MASTER_KEY: randomBytes(32).toString('base64'),
      PUBLIC_URL: `http://127.0.0.1:${await freePort()}`
    }
    const { app, url: DATABASE_URL } = await build(t, shared)
    const anna = await holder(app)
    const { port } = new URL(shared.PUBLIC_URL)
    const first = serverProcess(t, { ...shared, DATABASE_URL, PORT: port })
    await first.ready

    // A fresh server reads the signing keys once the token has been turned: without them it cannot answer.
    const { promise: killed, resolve: release } = Promise.withResolvers<void>()
    const { promise: isHeld, resolve: held } = Promise.withResolvers<void>()
    const { promise: isTurned, resolve: turned } = Promise.withResolvers<void>()
    await app.sql`
      create function prova_girato () returns trigger language plpgsql as $$
        begin perform pg_notify('prova', new.refresh_counter::text); return null; end
      $$`
    await app.sql`
      create trigger prova_girato after update of refresh_counter on sessions
      for each row execute function prova_girato()`
    await app.sql.listen('prova', () => turned())
    const lock = app.sql.begin(async (sql) => {
      await sql`lock table signing_keys in access exclusive mode`
      held()
      await killed
    })
    await isHeld

    const client = openClient(t, app.identity.directory.clientConfig)
    const answer = client.auth.refreshSession({ refresh_token: anna.first })
    await isTurned
    t.equal(await turns(app, anna), 1, 'turned, for good')
    t.same(client.exchanges, [], 'and not answered')
    first.signal('SIGKILL')
    await first.exit
    // Another server in its place.
    await app.listen({ host: '127.0.0.1', port: Number(port) })
    release()
    await lock

    const { data, error } = await answer
    t.equal(error, null)
    t.same(requests(client), ['POST /token?grant_type=refresh_token'], 'what was heard: the answer to the retry')
    t.equal(await turns(app, anna), 1)
    t.not(data.session!.refresh_token, anna.first)
    t.same(await standing(app, data.session!.access_token), [200, 200])
    t.match(await refresh(app, anna.first), { refresh: data.session!.refresh_token })
    const {
      data: { session }
    } = await client.auth.refreshSession()
    t.not(session?.refresh_token, data.session!.refresh_token)
    t.equal(await turns(app, anna), 2)
  }
)
