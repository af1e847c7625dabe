import { channel } from 'node:diagnostics_channel'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { invii_transizioni as transitions } from '#drizzle/tables/ledger.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import type { Audit } from '#src/services/audit/log.ts'
import { chainHead, type ChainHead } from '#src/database/chain-head.ts'
import type { Database } from '#src/database/connect.ts'
import type { BeforeReady } from '../police-hooks.ts'
import type { PoliceService } from '../service/police-service.ts'
import type { RaiseAlarm } from './alarms/alarm-bell.ts'
import type { Timeline } from './timeline.ts'

/** What the ledger proves and warns with. It needs no credentials: what was sent is looked after all the same. */
export interface WatchContext {
  db: Database
  clock: Clock
  log: FastifyBaseLogger
  /** Whether an error comes of a full disk: then the log says so already. */
  isTold?: (err: unknown) => boolean
  alarm: RaiseAlarm
  /** Whose submissions these are: the sandbox's, or the real ones, of whichever account. */
  mode: PoliceService['mode']
  /** Guests are known again by fingerprints that are made with them. */
  keys: Keys
  /** Names this process in claims and transitions. */
  name: string
}

export interface LedgerContext extends WatchContext {
  service: PoliceService
  lane: Lane
  chainHead: ChainHead
  timeline: Timeline
  audit: Audit
  /** Who has a say before a submission becomes ready. */
  beforeReady: readonly BeforeReady[]
}

/** Submissions that have one at a time. Four are rehearsed, or wait for the flight: so no Send waits for a Test. */
const LIMITS = { place: 4, flight: 1 } as const
type Good = keyof typeof LIMITS
/** So long a rehearsal keeps its rank: a slower one does not hold up those who came later. */
const RANK_KEPT_MS = 5000
/** Between two looks at whether a process that ends has nothing in flight any more. */
const EMPTY_MS = 20

/** The process ends: what is not dispatched is left to the next one. */
export class LaneClosed extends Error {}

/** A submission in the lane: it has a place or the flight, or asks for one; `since` by the clock that only advances. */
export interface Turn { readonly id: number, has: Good | null, wants: Good | null, since: number }

/** The submissions that this process carries out, first come first served. One that waits here writes nothing. */
export class Lane {
  /** Aborted when the process begins to end. */
  readonly closing: AbortSignal
  /** In the order in which they came. */
  readonly #turns = new Set<Turn>()

  constructor (closing = new AbortController().signal) {
    this.closing = closing
  }

  enter (id: number): Turn {
    const turn: Turn = { id, has: null, wants: null, since: 0 }
    this.#turns.add(turn)
    return turn
  }

  /** The submission leaves the lane, and gives back what it has. */
  leave (turn: Turn): void {
    this.#turns.delete(turn)
  }

  /**
   * Asks for the right to be rehearsed (`place`), or to be sent (`flight`) in exchange for its place.
   * @returns whether the submission has it; a caller asks until it has
   * @throws LaneClosed
   */
  take (turn: Turn, good: Good): boolean {
    if (this.closing.aborted) throw new LaneClosed()
    if (turn.has === good) return true
    const turns = [...this.#turns]
    turn.wants = good
    const isNext = turns.find(({ wants }) => wants === good) === turn
    if (!isNext || turns.filter(({ has }) => has === good).length >= LIMITS[good]) return false
    if (good === 'flight' && turns.slice(0, turns.indexOf(turn)).some(isRehearsed)) return false
    Object.assign(turn, { has: good, wants: null, since: performance.now() })
    return true
  }

  ids (): number[] {
    return [...this.#turns].map(({ id }) => id)
  }

  /**
   * A pause of a submission in the lane, in milliseconds.
   * @throws LaneClosed
   */
  async pause (ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.closing }).catch(() => { throw new LaneClosed() })
  }

  /** Resolves when no submission is in the lane. */
  async empty (): Promise<void> {
    while (this.#turns.size > 0) await sleep(EMPTY_MS)
  }
}

/** Whether a submission is being rehearsed, and keeps its rank. */
function isRehearsed ({ has, wants, since }: Turn): boolean {
  return has === 'place' && wants === null && performance.now() - since < RANK_KEPT_MS
}

/**
 * The head of the ledger's chain, noted outside of the database. A database that does not hold it is an older one that
 * was put back: what it does not know may have been sent.
 */
export function ledgerChainHead (dataDir: string): ChainHead {
  return chainHead(join(dataDir, 'ledger-chain.json'), transitions)
}

/** The steps of a submission in their order: a listener can see, or end, the process between any two of them. */
export type Step =
  'reserved' | 'claimed' | 'logged-in' | 'rehearsed' | 'connected' | 'dispatched' | 'replied' | 'recorded'

const steps = channel('locanda:ledger')

export function announce (step: Step, id: number): void {
  if (steps.hasSubscribers) steps.publish({ step, id })
}
