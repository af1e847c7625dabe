import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { buildConsole, PASSWORD } from './console.ts'

t.test('the statement of a caller who hangs up is ended, and has done nothing', async (t) => {
  const { app, token, run } = await buildConsole(t)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const body = JSON.stringify({ password: PASSWORD, sql: 'select pg_sleep(9)' })
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write('POST /api/querysql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n' +
    `authorization: Bearer ${await token({ role: 'admin' })}\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  const running = async () => (await app.sql`select from pg_stat_activity
    where application_name = 'locanda-sql' and query like '%pg_sleep%' and datname = current_database()`).length
  while (await running() === 0) await sleep(20)
  const since = Date.now()
  socket.destroy()
  while (await running() > 0) await sleep(20)
  t.ok(Date.now() - since < 8000, 'long before its own end')
  t.equal((await run('select 1')).statusCode, 200)
})
