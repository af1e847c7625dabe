import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Caller } from './caller.ts'
import type { Disturbances } from './disturbances.ts'
import { liveHeap, type Parts } from './heap.ts'
import type { Lives } from './lives.ts'
import { DRIVER, type Surroundings } from './surroundings.ts'

/** What is seen of a server from outside at an instant of the run. */
export interface Sample {
  minute: number
  life: number
  /** Megabytes that are resident. */
  memory: number
  /** Megabytes that the main thread holds when its garbage is collected; NaN where that was not looked at. */
  heap: number
  /** Resident megabytes when the garbage of all threads is collected; looked at as often as the heap. */
  held: number
  /** Where the memory is, in megabytes; looked at as often as the heap. */
  parts?: Parts
  /** Open files and sockets. */
  descriptors: number
  /** Of the server to the database. */
  connections: number
  /** Milliseconds that the event loop was late, the mean of the last seconds; NaN where `/metrics` did not answer. */
  lateness: number
  /** Milliseconds that `/metrics` took. */
  answered: number
  /** Answers a second since the sample before, by the class of their status. */
  rates: Record<string, number>
}

interface Subject {
  lives: Lives
  caller: Caller
  disturbances: Disturbances
  surroundings: Pick<Surroundings, 'connection' | 'inspector'>
}

/** Garbage is collected at one sample in so many: a server does so at its own times else. */
const HEAP_EVERY = 3

/** Looks every so many milliseconds until it is told to stop. */
export async function takeSamples (subject: Subject, everyMs: number, signal: AbortSignal): Promise<Sample[]> {
  const { lives, caller: { answers }, disturbances } = subject
  const samples: Sample[] = []
  let before = { at: disturbances.now(), classes: { ...answers.classes } }
  for (let turn = 0; !signal.aborted; turn++) {
    await sleep(everyMs, undefined, { signal }).catch(() => {})
    const pid = lives.current?.pid
    if (pid === undefined || signal.aborted) continue
    const now = { at: disturbances.now(), classes: { ...answers.classes } }
    const seconds = (now.at - before.at) / 1000
    const rates = Object.fromEntries(Object.entries(now.classes).map(([name, count]) =>
      [name, (count - (before.classes[name] ?? 0)) / seconds]))
    before = now
    const seen = await look(subject, pid).catch(() => undefined)
    const isDue = turn % HEAP_EVERY === 0
    const held = isDue ? await liveHeap(pid, subject.surroundings.inspector) : { heap: NaN, held: NaN }
    // A server that was ended meanwhile has no figures.
    if (seen && lives.current?.pid === pid) {
      samples.push({ minute: now.at / 60_000, life: lives.number, ...seen, ...held, rates })
    }
  }
  return samples
}

async function look ({ caller, surroundings: { connection: { sql } } }: Subject, pid: number) {
  const kilobytes = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  const descriptors = readdirSync(`/proc/${pid}/fd`).length
  const [{ connections }] = await sql<[{ connections: number }]>`
    select count(*)::int as connections from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and application_name <> ${DRIVER}`
  const asked = performance.now()
  const metrics = (await caller.ask('GET', '/metrics'))?.bytes.toString()
  const answered = performance.now() - asked
  const seconds = /^locanda_event_loop_delay_seconds (\S+)$/m.exec(metrics ?? '')?.[1]
  return { memory: kilobytes / 1024, descriptors, connections, lateness: Number(seconds ?? NaN) * 1000, answered }
}
