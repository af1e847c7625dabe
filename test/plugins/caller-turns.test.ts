import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { limitCallers } from '#src/plugins/caller-turns.ts'

const from = (ip: string, id?: string) => ({ ip, principal: id && { id } }) as unknown as FastifyRequest

t.test('who has no credentials counts by network: an IPv6 /64 is one caller', async (t) => {
  const takeTurn = limitCallers({ total: 4, perCaller: 2 })
  takeTurn(from('2001:db8:1:2::1'))
  const giveBack = takeTurn(from('2001:db8:1:2:ffff::2'))
  t.throws(() => takeTurn(from('2001:db8:1:2::3')), { code: 'SERVIZIO_OCCUPATO' })
  takeTurn(from('2001:db8:1:3::1'))
  giveBack()
  takeTurn(from('2001:db8:1:2::3'))
})

t.test('strangers, however many, take no turn of those who have credentials', async (t) => {
  const takeTurn = limitCallers({ total: 2, perCaller: 1 })
  for (const ip of ['192.0.2.1', '192.0.2.2']) takeTurn(from(ip))
  t.throws(() => takeTurn(from('192.0.2.3')), { code: 'SERVIZIO_OCCUPATO' })
  takeTurn(from('192.0.2.1', 'user:1'))
  takeTurn(from('192.0.2.1', 'user:2'))
})

t.test('a turn is given back once', async (t) => {
  const takeTurn = limitCallers({ total: 2, perCaller: 2 })
  const giveBack = takeTurn(from('192.0.2.1'))
  takeTurn(from('192.0.2.1'))
  giveBack()
  giveBack()
  takeTurn(from('192.0.2.1'))
  t.throws(() => takeTurn(from('192.0.2.1')), { code: 'SERVIZIO_OCCUPATO' })
})
