import t from 'tap'
import { create } from '#test/bookings/samples.ts'
import { build, temporaryFolder } from '#test/helper.ts'
import { startServer } from '#test/running-server.ts'
import { hooking, WEBHOOKS } from './hooking.ts'
import { answer, hang, startReceiver } from './receiver.ts'

t.test('what a process that is killed was delivering is delivered by another one, with the same id', async (t) => {
  const receiver = await startReceiver(t)
  receiver.behave = hang
  const shared = { TODAY: '2026-11-21', WEBHOOKS_TO_LOOPBACK: 'true', PUBLIC_URL: 'https://locanda.example' }
  // As long as there is no webhook, this process does not follow the events.
  const survivor = await build(t, shared)
  const { app, call, masterKey: MASTER_KEY, url: DATABASE_URL } = survivor
  const { authorization, settled, ask } = await hooking(survivor)
  const child = await startServer({ ...shared, MASTER_KEY, DATABASE_URL, DATA_DIR: temporaryFolder(t) })
  t.teardown(() => child.kill())
  const made = await child.post(WEBHOOKS, { url: receiver.url, tipi: ['prenotazione.creata'] }, { authorization })
  t.equal(made.status, 201)
  const { data: { id } } = await made.json() as { data: { id: number } }

  const { id: booking } = await create(call)
  await receiver.await(1)
  await child.kill()
  t.equal(receiver.received.length, 1)
  receiver.behave = answer(200)
  // The lease of the dead process is over.
  await app.sql`update webhook_consegne set prossimo_tentativo = now() where presa`
  t.equal((await ask('POST', '/api/v1/jobs/webhooks/avvia', {})).statusCode, 200)
  const [delivery] = await settled(id, 'consegnata', 1)
  t.match(delivery, { oggetto: `prenotazione:${booking}`, numero_tentativi: 2, tentativi: [{ stato_http: 200 }] })
  t.same(receiver.ids(), Array(2).fill(delivery!.evento))
})

t.test('a server that ends breaks off what hangs, and the next one makes it again at once', async (t) => {
  const receiver = await startReceiver(t)
  receiver.behave = hang
  const shared = { TODAY: '2026-11-21', WEBHOOKS_TO_LOOPBACK: 'true' }
  const first = await build(t, shared)
  const { add } = await hooking(first)
  await add(receiver.url, ['prenotazione.creata'])
  await create(first.call)
  await receiver.await(1)
  await first.app.close()
  receiver.behave = answer(200)
  await build(t, { ...shared, DATABASE_URL: first.url })
  await receiver.await(2)
  t.equal(new Set(receiver.ids()).size, 1)
})
