import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Disturbances } from './disturbances.ts'
import { liveHeap, type Parts } from './heap.ts'
import type { Lives } from './lives.ts'
import { DRIVER, type Surroundings } from './surroundings.ts'

/** Measurements of a server at one moment of the run. */
export interface Sample {
  minute: number
  life: number
  /** Resident memory in megabytes. */
  memory: number
  /** Live heap of the main thread in megabytes. NaN when not measured. */
  heap: number
  /** Resident megabytes after garbage collection in all threads. Measured together with `heap`. */
  held: number
  /** The parts of the memory in megabytes. Measured together with `heap`. */
  parts?: Parts
  /** Open files and sockets. */
  descriptors: number
  /** Connections of the server to the database. */
  connections: number
}

interface Subject {
  lives: Lives
  disturbances: Disturbances
  surroundings: Pick<Surroundings, 'connection' | 'inspector'>
}

/** Forces garbage collection only at every n-th sample, so that the server mostly collects by its own rules. */
const HEAP_EVERY = 3

/** Takes samples at an interval until aborted. */
export async function takeSamples (subject: Subject, everyMs: number, signal: AbortSignal): Promise<Sample[]> {
  const { lives, disturbances } = subject
  const samples: Sample[] = []
  for (let turn = 0; !signal.aborted; turn++) {
    await sleep(everyMs, undefined, { signal }).catch(() => {})
    const pid = lives.current?.pid
    if (pid === undefined || signal.aborted) continue
    const minute = disturbances.now() / 60_000
    const seen = await look(subject, pid).catch(() => undefined)
    const isDue = turn % HEAP_EVERY === 0
    const held = isDue ? await liveHeap(pid, subject.surroundings.inspector) : { heap: NaN, held: NaN }
    // Drop the sample when the server ended meanwhile.
    if (seen && lives.current?.pid === pid) {
      samples.push({ minute, life: lives.number, ...seen, ...held })
    }
  }
  return samples
}

async function look ({ surroundings: { connection: { sql } } }: Subject, pid: number) {
  const kilobytes = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  const descriptors = readdirSync(`/proc/${pid}/fd`).length
  const [{ connections }] = await sql<[{ connections: number }]>`
    select count(*)::int as connections from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and application_name <> ${DRIVER}`
  return { memory: kilobytes / 1024, descriptors, connections }
}
