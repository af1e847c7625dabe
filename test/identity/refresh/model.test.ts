import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { build } from '#test/helper.ts'
import { holder, refresh, standing, turns, type Holder } from './holder.ts'

/** The rules in the fewest words: times in seconds, of a clock that only the test moves. */
class Rules {
  now = 0
  counter = 0
  refreshedAt = 0
  /** On which day of the session the last repeat was that a thief can have made, and how many there were that day. */
  doubtful = { day: 0, count: 0 }
  isThere = true

  refresh (
    behind: number
  ): 'rotate' | 'repeat' | 'refresh_token_already_used' | 'refresh_token_not_found' | 'session_expired' {
    if (!this.isThere) return 'refresh_token_not_found'
    if (this.hasExpired) return 'session_expired'
    if (behind === 0) {
      this.counter++
      this.refreshedAt = this.now
      return 'rotate'
    }
    const isLate = this.now - this.refreshedAt >= 10
    if (behind === 1 && !isLate) return 'repeat'
    const day = Math.floor(this.now / DAY)
    this.doubtful = { day, count: this.doubtful.day === day ? this.doubtful.count + 1 : 1 }
    if ((behind === 1 || !isLate) && this.doubtful.count <= 3) return 'repeat'
    this.isThere = false
    return 'refresh_token_already_used'
  }

  get hasExpired (): boolean {
    return this.now >= 90 * DAY || this.now - this.refreshedAt >= 14 * DAY
  }
}

const DAY = 86_400

type Step = { do: 'refresh', behind: number } | { do: 'wait', seconds: number } | { do: 'logout' }

// Far enough below the interval that the time of a request itself does not matter; above it, it only adds.
const waits = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(1, 3, 5) },
  { weight: 8, arbitrary: fc.constantFrom(10, 11, 60, 3599) },
  { weight: 1, arbitrary: fc.constantFrom(13 * DAY, 14 * DAY) }
)
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.constantFrom(0, 0, 0, 0, 1, 1, 2, 3).map((behind) => ({ do: 'refresh' as const, behind }))
  },
  { weight: 10, arbitrary: waits.map((seconds) => ({ do: 'wait' as const, seconds })) },
  { weight: 1, arbitrary: fc.constant({ do: 'logout' as const }) }
)

const { app } = await build(t)

/** Makes the row as old as the rules say, so that no step lasts longer than it should. */
async function setClock (rules: Rules, { sessionId }: Holder): Promise<void> {
  const ago = (seconds: number) => app.sql`now() - ${rules.now - seconds} * interval '1 second'`
  await app.sql`
    update sessions set
      created_at = ${ago(0)},
      not_after = ${ago(90 * DAY)},
      refreshed_at = ${rules.counter === 0 ? null : ago(rules.refreshedAt)}
    where id = ${sessionId}`
  await app.identity.waitForListeners()
}

async function behaves (list: Step[], tally: Map<string, number>): Promise<void> {
  const rules = new Rules()
  const anna = await holder(app)
  const tokens = [anna.first]
  let access = anna.access
  for (const step of list) {
    if (step.do === 'wait') {
      rules.now += step.seconds
      continue
    }
    await setClock(rules, anna)
    if (step.do === 'logout') {
      const out = await app.inject({
        method: 'POST',
        url: '/auth/v1/logout?scope=local',
        headers: { authorization: `Bearer ${access}` }
      })
      assert.equal(out.statusCode, rules.isThere && rules.now < 90 * DAY ? 204 : 403)
      if (out.statusCode === 204) rules.isThere = false
    } else {
      const token = tokens.at(-1 - step.behind) ?? tokens[0]!
      const expected = rules.refresh(tokens.length - 1 - tokens.indexOf(token))
      tally.set(expected, (tally.get(expected) ?? 0) + 1)
      const outcome = await refresh(app, token)
      if ('code' in outcome) {
        assert.deepEqual(outcome, { status: 400, code: expected })
      } else {
        access = outcome.access
        if (expected === 'rotate') tokens.push(outcome.refresh)
        else assert.deepEqual([expected, outcome.refresh], ['repeat', tokens.at(-1)])
      }
    }
    assert.equal(new Set(tokens).size, rules.counter + 1)
    assert.equal(await turns(app, anna), rules.isThere ? rules.counter : undefined)
    assert.deepEqual(await standing(app, access), rules.isThere && rules.now < 90 * DAY ? [200, 200] : [401, 403])
  }
}

t.test('refreshes follow the rules in every sequence of events', async (t) => {
  const tally = new Map<string, number>()
  await t.resolves(
    fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 3, maxLength: 25, size: 'max' }), (list) => behaves(list, tally)),
      { numRuns: 16 }
    )
  )
  t.comment(JSON.stringify(Object.fromEntries(tally)))
})

t.test('refreshes follow the rules in the most important sequences', async (t) => {
  const turn = (behind = 0): Step => ({ do: 'refresh', behind })
  const wait = (seconds: number): Step => ({ do: 'wait', seconds })
  for (const list of [
    [turn(), turn(), turn(), wait(10), turn(2), turn()],
    [turn(), turn(), wait(5), turn(2), turn(1), turn(), wait(10), turn(1), turn(3)],
    [...Array.from({ length: 7 }, () => [wait(13 * DAY - 1), turn()]).flat(), turn(1)],
    [turn(), wait(14 * DAY), turn(1), turn()],
    [turn(), { do: 'logout' }, turn(), turn(1), { do: 'logout' }],
    [turn(), wait(60), turn(1), wait(3599), turn(1), turn(1), turn(1), turn()],
    [turn(), ...Array.from({ length: 4 }, () => [wait(3599), turn(), wait(60), turn(1)]).flat(), turn()],
    [turn(), ...Array.from({ length: 9 }, () => [turn(), wait(DAY / 3), turn(1)]).flat(), turn()]
  ] satisfies Step[][]) await t.resolves(behaves(list, new Map()))
})
