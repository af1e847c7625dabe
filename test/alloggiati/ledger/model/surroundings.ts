import { conclude, disown, release } from './record.ts'
import { go } from './trigger.ts'
import {
  mayBeThere,
  off,
  step,
  windowOpen,
  type Attempt,
  type Day,
  type Step,
  type Time,
  type Worker,
  type World
} from './world.ts'

/** Steps outside the workers: the network, the police, time, crashes, the sweep, an abandoned account. */
export function * surroundingSteps (w: World): Generator<Step> {
  yield * network(w)
  yield * time(w)
  yield * crash(w)
  if (!off(w, 'sweep')) yield * sweep(w)
  if (w.law.scope.leaves) yield * account(w)
}

function * network (w: World): Generator<Step> {
  for (const [unit, { attempts }] of w.units.entries()) {
    for (const [index, { wire }] of attempts.entries()) {
      if (wire !== 'flying') continue
      const land = (label: string, change: Partial<Attempt>): Step => step(w, label, (n) => {
        const awaited = n.workers.some(
          (worker) => worker.phase === 'waiting' && worker.unit === unit && worker.attempt === index
        )
        Object.assign(n.units[unit]!.attempts[index]!, { wire: awaited ? 'answered' : 'over', ...change })
      })
      if (!w.law.scope.quiet) yield land('request is lost', { wire: 'over' })
      yield land('request refused', { taken: 0 })
      for (const day of daysOf(w)) {
        yield land(`request acquired on D+${day}`, { taken: 2, day })
        if (w.law.scope.partial) yield land(`request acquired in part on D+${day}`, { taken: 1, day })
      }
    }
  }
}

/** The days whose receipt may count rows that arrive now, while the police accepts the arrival. */
export function daysOf ({ time, law: { scope } }: World): readonly Day[] {
  return scope.closing ? DAYS[time].filter((day) => day === 0) : DAYS[time]
}
const DAYS: Record<Time, readonly Day[]> = { 0: [0], 1: [0], 2: [0, 1], 3: [1], 4: [] }

function * time (w: World): Generator<Step> {
  if (w.time < 4 && (isMidnight(w.time) || !isBusy(w))) {
    const next = w.time === 0 && !w.law.scope.midnight ? 3 : w.time + 1 as Time
    yield step(w, TIMES[next], (n) => {
      n.time = next
      // A lease is shorter than a day, so a worker that is still busy was paused or slow.
      if (!isMidnight(w.time)) for (const worker of n.workers) lapse(worker)
    })
  }
  for (const [unit, { stato }] of w.units.entries()) {
    if (!windowOpen(w) && !w.gone && stato === 'pronto') {
      yield step(w, 'window has closed', (n) => {
        go(n, n.units[unit]!, 'da_verificare')
      })
    }
  }
}

/** Whether the next value of time is only minutes later. If so, calls in flight continue. */
function isMidnight (time: Time): boolean {
  return time === 1 || time === 2
}

/** Written bytes are processed within minutes, and a worker that is not paused finishes within its lease. */
function isBusy ({ units, workers, law: { scope } }: World): boolean {
  return units.some(({ attempts }) => attempts.some(({ wire }) => wire === 'flying')) ||
    (scope.quiet && workers.some(({ phase }) => phase !== 'idle'))
}

function lapse (worker: Worker): void {
  if (worker.phase !== 'idle') worker.lapsed = true
}

const TIMES: Record<Time, string> = { 0: 'D', 1: 'late on D', 2: 'midnight', 3: 'D+1', 4: 'D+2' }

function * crash (w: World): Generator<Step> {
  if (w.crashes === 0) return
  const die = (dead: (i: number) => boolean): Step => step(w, 'crash', (n) => {
    n.crashes--
    for (const i of n.workers.keys()) if (dead(i)) release(n, i)
  })
  if (w.law.scope.quiet) return yield die(() => true)
  for (const [i, { phase }] of w.workers.entries()) if (phase !== 'idle') yield die((each) => each === i)
}

function * sweep (w: World): Generator<Step> {
  for (const [unit, { stato }] of w.units.entries()) {
    if (stato !== 'preso' && stato !== 'in_invio') continue
    // The worker was killed, or was paused or slow for longer than a lease.
    if (w.law.scope.quiet && w.workers.some(({ phase, unit: at }) => phase !== 'idle' && at === unit)) continue
    yield step(w, `sweep ${stato}`, (n) => {
      const u = n.units[unit]!
      for (const worker of n.workers) if (worker.unit === unit) lapse(worker)
      disown(n, unit)
      if (stato === 'preso' || off(n, 'leaseToUnknown')) return go(n, u, 'pronto')
      if (u.attempts.at(-1)!.outcome === '') u.attempts.at(-1)!.outcome = '?'
      go(n, u, 'sconosciuto')
      conclude(n, u)
    })
  }
}

/** No process uses the account any more, so ready submissions would wait forever. */
function * account (w: World): Generator<Step> {
  if (!w.gone) return yield step(w, 'account abandoned', (n) => { n.gone = true })
  if (off(w, 'orphans')) return
  for (const [unit, { stato }] of w.units.entries()) {
    if (stato !== 'pronto') continue
    yield step(w, 'sweep pronto of no account', (n) => {
      const u = n.units[unit]!
      go(n, u, mayBeThere(u) ? 'da_verificare' : 'non_inviato')
    })
  }
}
