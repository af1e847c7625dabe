import t from 'tap'
import { parseRedisUrl } from '#src/lib/redis-address.ts'

const NONE = { db: 0, username: undefined, password: undefined, sentinelPassword: undefined }

t.test('sentinels are named with their ports, the master, and who asks', async (t) => {
  t.strictSame(parseRedisUrl('redis+sentinel://uno:26380,due,[::1]:5/maestro'), {
    ...NONE,
    name: 'maestro',
    sentinels: [{ host: 'uno', port: 26_380 }, { host: 'due', port: 26_379 }, { host: '::1', port: 5 }]
  })
  t.strictSame(parseRedisUrl('redis+sentinel://io:p%40r@uno/m/3?sentinelPassword=a%26b'), {
    ...{ db: 3, username: 'io', password: 'p@r', sentinelPassword: 'a&b' },
    name: 'm',
    sentinels: [{ host: 'uno', port: 26_379 }]
  })
  t.match(parseRedisUrl('redis+sentinel://:solo@uno/m'), { username: undefined, password: 'solo' })
})

t.test('an address of one server is taken as it is', async (t) => {
  t.strictSame(parseRedisUrl('rediss://io:p@uno:1/2'), { url: 'rediss://io:p@uno:1/2' })
})
