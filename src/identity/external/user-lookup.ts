import { LRUCache } from 'lru-cache'
import type { AuthUser } from '#schemas/auth/user.ts'
import { ProviderNonRaggiungibile } from '../errors.ts'
import type { IdpClient } from './client.ts'
import { isBannedOrDeleted, readUser } from './users.ts'

/** Asks the provider for its users, with the service key. Banned and deleted users are not found. */
export interface UserLookup {
  /** As of at most a minute ago. @throws ProviderNonRaggiungibile */
  recent (userId: string): Promise<AuthUser | undefined>
  /** As of now. @throws ProviderNonRaggiungibile */
  now (userId: string): Promise<AuthUser | undefined>
}

const RECENT_MS = 60_000
const MAX_ENTRIES = 2000

export interface UserLookupOptions {
  client: Pick<IdpClient, 'asService'>
  serviceKey: string
  /** A clock that never goes back, ms. */
  clock?: () => number
}

export function userLookup ({ client, serviceKey, clock = () => performance.now() }: UserLookupOptions): UserLookup {
  /** The questions of the last minute, so that many callers at once ask one. Failed questions are dropped. */
  const asked = new LRUCache<string, { at: number, answer: Promise<AuthUser | undefined> }>({ max: MAX_ENTRIES })

  return {
    async recent (userId) {
      const known = asked.get(userId)
      const isRecent = known !== undefined && clock() - known.at < RECENT_MS
      return unlessBannedOrDeleted(await (isRecent ? known.answer : ask(userId)))
    },
    now: async (userId) => unlessBannedOrDeleted(await ask(userId))
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

/** Checked at every call: a ban ends by itself. */
function unlessBannedOrDeleted (user: AuthUser | undefined): AuthUser | undefined {
  return user === undefined || isBannedOrDeleted(user) ? undefined : user
}
