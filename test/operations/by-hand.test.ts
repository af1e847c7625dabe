import t from 'tap'
import { until } from '#test/alloggiati/stand-in.ts'
import { create } from '#test/bookings/samples.ts'
import { build } from '#test/helper.ts'
import { hooking, WEBHOOKS } from './hooking.ts'
import { answer, startReceiver } from './receiver.ts'

const server = await build(t, { WEBHOOKS_TO_LOOPBACK: 'true' }, undefined, { eventTimes: { firstDelayMs: 20 } })
const { call } = server
const { ask, add, find, repeat, deliveries } = await hooking(server)

t.test('what is tried by hand, or as a test, comes before all that wait, also while the webhook rests', async (t) => {
  const receiver = await startReceiver(t)
  receiver.behave = answer(429, { 'retry-after': '9000' })
  const { id } = await add(receiver.url, ['prenotazione.creata'])
  for (let n = 0; n < 6; n++) await create(call)
  await until(async () => (await find(id)).fermo_fino_al !== null)
  const waiting = await deliveries(id, '?stato=in_coda')
  t.equal(waiting.length, 6)
  const held = Promise.withResolvers<void>()
  receiver.behave = (received, response) => { void held.promise.then(() => answer(204)(received, response)) }
  receiver.received.length = 0
  // The newest of them.
  t.equal((await repeat(id, waiting[0]!.id)).statusCode, 200)
  await receiver.await(2)
  t.equal(receiver.ids()[0], waiting[0]!.evento)
  // Both places are taken: it is the next one.
  const { evento } = (await ask('POST', `${WEBHOOKS}/${id}/prova`, {})).json<{ data: { evento: string } }>().data
  held.resolve()
  await receiver.await(3)
  t.equal(receiver.ids()[2], evento)
  t.equal((await find(id)).fermo_fino_al, null)
})

t.test('what is repeated is made in the order in which it was asked for', async (t) => {
  const receiver = await startReceiver(t)
  const { id } = await add(receiver.url, ['prenotazione.creata'])
  for (let n = 0; n < 4; n++) await create(call)
  await until(async () => (await deliveries(id, '?stato=consegnata')).length === 4)
  const [newest, third, second, oldest] = await deliveries(id)
  const made = [third!, oldest!, newest!, second!]
  // All places are taken meanwhile.
  const held = Promise.withResolvers<void>()
  receiver.behave = (received, response) => { void held.promise.then(() => answer(204)(received, response)) }
  for (let n = 0; n < 2; n++) await create(call)
  receiver.received.length = 0
  await receiver.await(2)
  for (const { id: delivery } of made) t.equal((await repeat(id, delivery)).statusCode, 200)
  held.resolve()
  await receiver.await(6)
  // Two at a time: each comes before the one after the next.
  const order = receiver.ids().slice(2).map((evento) => made.findIndex((one) => one.evento === evento))
  t.ok(order.every((place, at) => Math.abs(place - at) <= 1), order.join())
})

t.test('a test that failed holds up no further one', async (t) => {
  const receiver = await startReceiver(t)
  const { id } = await add(receiver.url)
  receiver.behave = answer(429, { 'retry-after': '9000' })
  const test = () => ask('POST', `${WEBHOOKS}/${id}/prova`, {})
  t.equal((await test()).statusCode, 200)
  await until(async () => (await find(id)).fermo_fino_al !== null)
  receiver.behave = answer(204)
  const { evento } = (await test()).json<{ data: { evento: string } }>().data
  await receiver.await(2)
  t.equal(receiver.ids()[1], evento)
})
