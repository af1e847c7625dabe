import fc from 'fast-check'
import { createTask } from 'node-cron'
import t from 'tap'
import { nextTime } from '#src/plugins/jobs/schedule.ts'

const MINUTE = 60_000
const CRONS = ['* * * * *', '*/30 * * * * *', '17 * * * *', '0 6-23 * * *', '40 3 * * *']

t.test('the next time of a job is the first one after the instant, whatever was asked before', async (t) => {
  const tasks = CRONS.map((cron) => ({ cron, task: createTask(cron, () => {}, { timezone: 'Europe/Rome' }) }))
  const ahead = fc.oneof(fc.integer({ min: -5, max: 5 }), fc.integer({ min: 0, max: 30 }))
  t.doesNotThrow(() => fc.assert(fc.property(fc.array(ahead, { minLength: 2, maxLength: 6 }), (minutes) => {
    for (const { cron, task } of tasks) {
      for (const minute of minutes) {
        const instant = new Date(Date.now() + minute * MINUTE)
        const time = nextTime(cron, task, instant)
        const [first] = task.getNextRuns(70).filter((at) => at > instant)
        // While it was asked for, its time may have come.
        if (time > new Date() && time.getTime() !== first!.getTime()) return false
      }
    }
    return true
  }), { numRuns: 10 }))
})
