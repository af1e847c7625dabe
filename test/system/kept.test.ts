import t from 'tap'
import { kept } from '#src/system/settings/kept.ts'

const listening = { ready: async () => true }
const log = { warn () {} }

t.test('a value that has changed is never given out again, even when the new one cannot be read', async (t) => {
  let value = 'vecchio'
  let isDown = false
  const setting = kept(async () => {
    if (isDown) throw new Error('giù')
    return value
  }, () => listening, log)
  t.equal(await setting.current(), 'vecchio')
  isDown = true
  setting.forget()
  t.equal(await setting.current(), 'vecchio', 'nobody said that it has changed')
  value = 'nuovo'
  setting.change()
  await t.rejects(async () => await setting.current(), { message: 'giù' })
  isDown = false
  t.equal(await setting.current(), 'nuovo')
  t.equal(setting.current(), 'nuovo', 'at once')
})

t.test('a request that comes while the database is away for a moment gets the new value', async (t) => {
  let fails = 0
  const setting = kept(async () => {
    if (fails-- > 0) throw new Error('giù')
    return fails
  }, () => listening, log)
  await setting.current()
  setting.change()
  fails = 3
  t.equal(await setting.current(), -1)
})

t.test('a start waits for the value longer than a request does', async (t) => {
  const answer = Promise.withResolvers<string>()
  const setting = kept(() => answer.promise, () => listening, log)
  const first = setting.first()
  await t.rejects(async () => await setting.current(), { code: 'SERVIZIO_OCCUPATO' })
  answer.resolve('letto')
  t.equal(await first, 'letto')
})
