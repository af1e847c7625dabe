import { setTimeout as sleep } from 'node:timers/promises'
import { answer, hang } from '#test/events/receiver.ts'
import type { Disturbances, Fault } from './disturbances.ts'
import type { Lives } from './lives.ts'
import { DRIVER, type Surroundings } from './surroundings.ts'

/** Start and duration of a fault, as fractions of the run. */
interface Planned { at: number, fault: Fault, lasts?: number }

/**
 * The faults of a run. While services fail, the memory of two long-lived servers must not grow. In the time between,
 * short-lived ones get SIGTERM or SIGKILL.
 */
export const PLAN: readonly Planned[] = [
  { at: 0.16, fault: 'police', lasts: 0.02 },
  { at: 0.20, fault: 'mail', lasts: 0.02 },
  { at: 0.24, fault: 'receiver', lasts: 0.02 },
  { at: 0.28, fault: 'database' },
  { at: 0.40, fault: 'end' },
  { at: 0.43, fault: 'kill' },
  { at: 0.46, fault: 'end' },
  { at: 0.49, fault: 'kill' },
  { at: 0.51, fault: 'kill' },
  { at: 0.53, fault: 'end' },
  { at: 0.74, fault: 'police', lasts: 0.02 },
  { at: 0.78, fault: 'mail', lasts: 0.02 },
  { at: 0.82, fault: 'receiver', lasts: 0.02 },
  { at: 0.86, fault: 'database' }
]

interface Subject { lives: Lives, surroundings: Surroundings, disturbances: Disturbances }

/** Executes the plan within `totalMs`. */
export async function carryOut ({ lives, surroundings, disturbances }: Subject, totalMs: number): Promise<void> {
  const { police, mailIsRefused, receiver, connection: { sql } } = surroundings
  let isSecond = false
  const takeAway: Record<Exclude<Fault, 'end' | 'kill'>, () => Promise<() => Promise<void>>> = {
    async police () {
      await police.stop()
      return police.start
    },
    async mail () {
      mailIsRefused.value = true
      return async () => { mailIsRefused.value = false }
    },
    async receiver () {
      receiver.behave = isSecond ? hang : answer(503)
      isSecond = true
      return async () => { receiver.behave = answer(204) }
    },
    async database () {
      await sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and backend_type = 'client backend' and application_name <> ${DRIVER}`
      return async () => {}
    }
  }
  for (const { at, fault, lasts = 0 } of PLAN) {
    await sleep(Math.max(at * totalMs - disturbances.now(), 0))
    if (fault === 'end' || fault === 'kill') {
      await lives.restart(fault)
      continue
    }
    const over = disturbances.begin(fault)
    const giveBack = await takeAway[fault]()
    await sleep(lasts * totalMs)
    await giveBack()
    over()
  }
  await sleep(Math.max(totalMs - disturbances.now(), 0))
}
