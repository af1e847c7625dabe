import { LRUCache } from 'lru-cache'
import type { AuthUser } from '#schemas/auth/user.ts'
import { ProviderNonRaggiungibile } from '../errors.ts'
import type { ProviderClient } from './client.ts'
import { isBarred, readUser } from './users.ts'

/** The provider's people, asked for with the service key. Those who are banned or deleted are nobody. */
export interface People {
  /** As of at most a minute ago. @throws ProviderNonRaggiungibile */
  recent (userId: string): Promise<AuthUser | undefined>
  /** As of now. @throws ProviderNonRaggiungibile */
  now (userId: string): Promise<AuthUser | undefined>
}

const RECENT_MS = 60_000
const AT_MOST = 2000

export interface PeopleOptions {
  client: Pick<ProviderClient, 'asService'>
  serviceKey: string
  /** A clock that never goes back, ms. */
  clock?: () => number
}

export function createPeople ({ client, serviceKey, clock = () => performance.now() }: PeopleOptions): People {
  /** Questions, so that many callers at once ask one; failed ones are forgotten. */
  const asked = new LRUCache<string, { at: number, answer: Promise<AuthUser | undefined> }>({ max: AT_MOST })

  return {
    async recent (userId) {
      const known = asked.get(userId)
      return unlessBarred(await (known !== undefined && clock() - known.at < RECENT_MS ? known.answer : ask(userId)))
    },
    now: async (userId) => unlessBarred(await ask(userId))
  }

  function ask (userId: string): Promise<AuthUser | undefined> {
    const question = { at: clock(), answer: find(userId) }
    asked.set(userId, question)
    question.answer.catch(() => { if (asked.peek(userId) === question) asked.delete(userId) })
    return question.answer
  }

  async function find (userId: string): Promise<AuthUser | undefined> {
    const { status, body } = await client.asService(serviceKey, 'GET', `/admin/users/${userId}`)
    if (status === 404) return undefined
    const user = status === 200 ? readUser(body) : undefined
    if (user === undefined || user.id !== userId) throw new ProviderNonRaggiungibile()
    return user
  }
}

/** Looked at every time: a ban ends by itself. */
function unlessBarred (user: AuthUser | undefined): AuthUser | undefined {
  return user === undefined || isBarred(user) ? undefined : user
}
