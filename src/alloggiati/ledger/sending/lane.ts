import { setTimeout as sleep } from 'node:timers/promises'

/** So many are rehearsed, or have been and wait for the flight: with equal calls no Send waits for a Test. */
const PLACES = 4
/** So long a rehearsal keeps its rank: a slower one does not hold up those who came later. */
const RANK_KEPT_MS = 5000

/** The process ends: what is not dispatched is left to the next one. */
export class LaneClosed extends Error {}

/** The way of one submission through the lane. */
export interface Turn {
  /**
   * Resolves when the submission may be rehearsed.
   * @throws LaneClosed
   */
  place (): Promise<void>
  /**
   * Resolves when the submission may be sent: no other one of this process is in flight. Its place is free then.
   * @throws LaneClosed
   */
  flight (): Promise<void>
  /** Gives back what it has, and waits for nothing any more; it keeps its rank in the lane. */
  step (): void
  /** It leaves the lane, and gives back what it has. */
  leave (): void
}

/** The submissions that this process carries out, first come first served. Who waits here writes nothing. */
export interface Lane {
  enter (id: number): Turn
  /** The submissions that are in the lane. */
  ids (): number[]
  /**
   * A pause of a submission in the lane, in milliseconds.
   * @throws LaneClosed
   */
  pause (ms: number): Promise<void>
  /** Aborted when the process begins to end. */
  closing: AbortSignal
  /** Resolves when the lane is empty. */
  empty (): Promise<void>
}

type Good = 'place' | 'flight'

/** A submission in the lane: it has a place or the flight, or waits for one, or does what comes before. */
interface Ticket {
  id: number
  has: Good | null
  wants: { good: Good, open (): void, refuse (reason: LaneClosed): void } | null
  /** Since when they neither wait nor fly, by the clock that only goes forward. */
  busySince: number
}

/** @param closing who waits when it is aborted, or later, is turned away */
export function createLane (closing: AbortSignal = new AbortController().signal): Lane {
  /** In the order in which they came. */
  const inside = new Set<Ticket>()
  let lookAgain: NodeJS.Timeout | undefined
  let whenEmpty: (() => void)[] = []

  const having = (good: Good) => [...inside].filter(({ has }) => has === good).length
  const nextFor = (good: Good) => [...inside].find(({ wants }) => wants?.good === good)

  function give (ticket: Ticket, good: Good): void {
    const { open } = ticket.wants!
    ticket.has = good
    ticket.wants = null
    ticket.busySince = performance.now()
    open()
  }

  function serve (): void {
    clearTimeout(lookAgain)
    const first = nextFor('flight')
    if (first !== undefined && having('flight') === 0) {
      const wait = keptByEarlier(first)
      if (wait <= 0) give(first, 'flight')
      else lookAgain = setTimeout(serve, wait)
    }
    for (let next = nextFor('place'); next && having('place') < PLACES; next = nextFor('place')) give(next, 'place')
  }

  /** Milliseconds for which submissions that came before this one, and are not as far yet, keep their rank. */
  function keptByEarlier (ticket: Ticket): number {
    const all = [...inside]
    const earlier = all.slice(0, all.indexOf(ticket)).filter(({ wants }) => wants === null)
    return Math.max(0, ...earlier.map(({ busySince }) => busySince + RANK_KEPT_MS - performance.now()))
  }

  closing.addEventListener('abort', () => {
    for (const ticket of inside) {
      ticket.wants?.refuse(new LaneClosed())
      ticket.wants = null
    }
  })

  return {
    closing,

    enter (id) {
      const ticket: Ticket = { id, has: null, wants: null, busySince: performance.now() }
      inside.add(ticket)
      const ask = (good: Good) => new Promise<void>((resolve, reject) => {
        if (closing.aborted) return reject(new LaneClosed())
        ticket.wants = { good, open: resolve, refuse: reject }
        serve()
      })
      const step = () => {
        ticket.has = null
        ticket.wants = null
        serve()
      }
      return {
        place: () => ask('place'),
        flight: () => ask('flight'),
        step,
        leave () {
          inside.delete(ticket)
          step()
          if (inside.size > 0) return
          for (const done of whenEmpty) done()
          whenEmpty = []
        }
      }
    },

    ids: () => [...inside].map(({ id }) => id),

    async pause (ms) {
      await sleep(ms, undefined, { signal: closing }).catch(() => { throw new LaneClosed() })
    },

    empty: () => new Promise((resolve) => {
      if (inside.size === 0) resolve()
      else whenEmpty.push(resolve)
    })
  }
}
