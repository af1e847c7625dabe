import { setTimeout as sleep } from 'node:timers/promises'
import { addDays, dayInRome, instantInRome, type Day } from '#src/lib/time.ts'

/** So many are rehearsed, or have been and wait for the flight: with equal calls no Send waits for a Test. */
const PLACES = 4
/** So long a rehearsal keeps its rank: a slower one does not hold up those who came later. */
const RANK_KEPT_MS = 5000

/** The process ends: what is not dispatched is left to the next one. */
export class LaneClosed extends Error {}

/** The way of one submission through the lane. `place` and `flight` throw LaneClosed. */
export interface Turn {
  /** Resolves when the submission may be rehearsed. */
  place (): Promise<void>
  /** Resolves when the submission may be sent: no other one of this process is in flight. Its place is free then. */
  flight (): Promise<void>
  /** Gives back what it has, and waits for nothing any more; it keeps its rank in the lane. */
  step (): void
  /** It leaves the lane, and gives back what it has. */
  leave (): void
}

type Good = 'place' | 'flight'

/** A submission in the lane: it has a place or the flight, or waits for one, or does what comes before. */
interface Ticket {
  id: number
  has: Good | null
  wants: { good: Good, open (): void, refuse (reason: LaneClosed): void } | null
  /** Since when it neither waits nor flies, by the clock that only goes forward. */
  busySince: number
}

/** The submissions that this process carries out, first come first served. One that waits here writes nothing. */
export class Lane {
  /** Aborted when the process begins to end. */
  readonly closing: AbortSignal
  /** In the order in which they came. */
  readonly #inside = new Set<Ticket>()
  #lookAgain: NodeJS.Timeout | undefined
  #whenEmpty: (() => void)[] = []

  constructor (closing: AbortSignal) {
    this.closing = closing
    closing.addEventListener('abort', () => {
      for (const ticket of this.#inside) {
        ticket.wants?.refuse(new LaneClosed())
        ticket.wants = null
      }
    })
  }

  enter (id: number): Turn {
    const ticket: Ticket = { id, has: null, wants: null, busySince: performance.now() }
    this.#inside.add(ticket)
    const step = () => {
      Object.assign(ticket, { has: null, wants: null })
      this.#serve()
    }
    const leave = () => {
      this.#inside.delete(ticket)
      step()
      if (this.#inside.size > 0) return
      for (const done of this.#whenEmpty) done()
      this.#whenEmpty = []
    }
    return { place: () => this.#ask(ticket, 'place'), flight: () => this.#ask(ticket, 'flight'), step, leave }
  }

  ids (): number[] {
    return [...this.#inside].map(({ id }) => id)
  }

  /**
   * A pause of a submission in the lane, in milliseconds.
   * @throws LaneClosed
   */
  async pause (ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.closing }).catch(() => { throw new LaneClosed() })
  }

  empty (): Promise<void> {
    return new Promise((resolve) => {
      if (this.#inside.size === 0) resolve()
      else this.#whenEmpty.push(resolve)
    })
  }

  #ask (ticket: Ticket, good: Good): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.closing.aborted) return reject(new LaneClosed())
      ticket.wants = { good, open: resolve, refuse: reject }
      this.#serve()
    })
  }

  #serve (): void {
    clearTimeout(this.#lookAgain)
    const all = [...this.#inside]
    const having = (good: Good) => all.filter(({ has }) => has === good).length
    const nextFor = (good: Good) => all.find(({ wants }) => wants?.good === good)
    const first = nextFor('flight')
    if (first !== undefined && having('flight') === 0) {
      const wait = keptByEarlier(all.slice(0, all.indexOf(first)))
      if (wait <= 0) give(first, 'flight')
      else this.#lookAgain = setTimeout(() => this.#serve(), wait)
    }
    for (let next = nextFor('place'); next && having('place') < PLACES; next = nextFor('place')) give(next, 'place')
  }
}

/** @param closing those who wait when it is aborted, or later, are turned away */
export function createLane (closing = new AbortController().signal): Lane {
  return new Lane(closing)
}

function give (ticket: Ticket, good: Good): void {
  const { open } = ticket.wants!
  Object.assign(ticket, { has: good, wants: null, busySince: performance.now() })
  open()
}

/** Milliseconds for which submissions that came before, and are not as far yet, keep their rank. */
function keptByEarlier (earlier: readonly Ticket[]): number {
  const busy = earlier.filter(({ wants }) => wants === null)
  return Math.max(0, ...busy.map(({ busySince }) => busySince + RANK_KEPT_MS - performance.now()))
}

/**
 * Whether nothing is dispatched: from 23:58 to 00:02 in Rome, because it could count on either of two days, and no
 * receipt alone would tell. An arrival of the day before goes all the same: the service takes it until midnight alone.
 */
export function isQuiet (now: Date, arrival?: Day): boolean {
  const today = dayInRome(now)
  if (now >= instantInRome(today, 23, 58)) return arrival !== addDays(today, -1)
  return now < instantInRome(today, 0, 2)
}
