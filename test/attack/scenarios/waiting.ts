import { ask } from '../requests.ts'
import { bounded, timed, type Scenario } from '../scenario.ts'
import { onTarget } from '../target.ts'

const AT_ONCE = 600
/** Maximum response time: ten seconds in the queue, and the hash of a password on a busy machine. */
const MAX_RESPONSE_MS = 20_000

/** Sends more sign-ins together than the server hashes in ten seconds. Each waits in the queue, or gets a 503. */
export const waiting: Scenario = {
  name: `${AT_ONCE} sign-ins at once`,
  run: async () => await onTarget({ TRUST_PROXY: '127.0.0.1', RATE_LIMIT_LOGIN_MAX: '1000' }, async (target) => {
    const { ADMIN_EMAIL: email, ADMIN_PASSWORD: password } = target.env
    const times: number[] = []
    const signIn = async (n: number) => {
      let status = 0
      times.push(await timed(async () => {
        const from = { 'x-forwarded-for': `10.3.${n >> 8}.${n & 255}` }
        status = (await ask(target, 'POST', '/auth/v1/token?grant_type=password', from, { email, password })).status
      }))
      return status
    }
    const statuses = await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => signIn(n)))
    const count = (status: number) => statuses.filter((each) => each === status).length
    const slowest = Math.max(...times)
    const afterwards = await signIn(AT_ONCE)
    return {
      figures: {
        'sign-ins': AT_ONCE,
        'signed in': count(200),
        'busy, to be retried': count(503),
        'slowest, ms': Math.round(slowest),
        afterwards
      },
      faults: [
        ...bounded('slowest, ms', slowest, MAX_RESPONSE_MS),
        ...(count(200) > 0 && count(200) + count(503) === AT_ONCE ? [] : [`answers ${[...new Set(statuses)].join()}`]),
        ...(afterwards === 200 ? [] : [`the next sign-in is answered with ${afterwards}`])
      ]
    }
  })
}
