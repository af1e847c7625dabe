import { conclude, disown, release } from './record.ts'
import { go } from './trigger.ts'
import { off, step, type Attempt, type Day, type Step, type Time, type World } from './world.ts'

/** What happens around the workers: the network, the police, time, death, and the sweep. */
export function * surroundingSteps (w: World): Generator<Step> {
  yield * network(w)
  yield * time(w)
  yield * crash(w)
  if (!off(w, 'sweep')) yield * sweep(w)
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
      for (const day of daysOf(w.time)) {
        yield land(`request acquired on D+${day}`, { taken: 2, day })
        if (w.law.scope.partial) yield land(`request acquired in part on D+${day}`, { taken: 1, day })
      }
    }
  }
}

/** The days on which something that arrives now may be counted; arrivals of D are not accepted after D+1. */
export function daysOf (time: Time): readonly Day[] {
  return DAYS[time]
}
const DAYS: Record<Time, readonly Day[]> = { 0: [0], 1: [0, 1], 2: [1], 3: [] }

function * time (w: World): Generator<Step> {
  if (!w.law.scope.quiet) {
    for (const [i, { phase, lapsed }] of w.workers.entries()) {
      if (phase !== 'idle' && !lapsed) yield step(w, 'worker freezes', (n) => { n.workers[i]!.lapsed = true })
    }
  }
  // A lease is shorter than any of these, and bytes that were written are dealt with within minutes: across midnight at
  // most.
  const pending = w.workers.some(({ phase, lapsed }) => phase !== 'idle' && !lapsed)
  const flying = w.units.some(({ attempts }) => attempts.some(({ wire }) => wire === 'flying'))
  if (w.time < 3 && !pending && (!flying || w.time === 1)) {
    const next = w.time === 0 && !w.law.scope.midnight ? 2 : w.time + 1 as Time
    yield step(w, TIMES[next], (n) => { n.time = next })
  }
  for (const [unit, { stato }] of w.units.entries()) {
    if (w.time === 3 && stato === 'pronto') {
      yield step(w, 'window has closed', (n) => {
        go(n, n.units[unit]!, 'da_verificare')
      })
    }
  }
}

const TIMES: Record<Time, string> = { 0: 'D', 1: 'midnight nears', 2: 'D+1', 3: 'D+2' }

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
    if (w.workers.some((worker) => worker.phase !== 'idle' && worker.unit === unit && worker.owns && !worker.lapsed)) {
      continue
    }
    yield step(w, `sweep ${stato}`, (n) => {
      const u = n.units[unit]!
      disown(n, unit)
      if (stato === 'preso' || off(n, 'leaseToUnknown')) return go(n, u, 'pronto')
      if (u.attempts.at(-1)!.outcome === '') u.attempts.at(-1)!.outcome = '?'
      go(n, u, 'sconosciuto')
      conclude(n, u)
    })
  }
}
