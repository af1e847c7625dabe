import { randomUUID } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import { createTask } from 'node-cron'
import type { Job as JobResponse } from '#schemas/job.ts'
import type { Database, Transaction } from '#src/database/connect.ts'
import { errorCode } from '#src/lib/error-code.ts'
import { ServizioOccupato } from '#src/lib/errors.ts'
import {
  type DueJob, type End, findDue, findJobs, type JobRow, recordEnd, recordRun, registerJobs, renewLease, takeDue,
  takeNow
} from './repository.ts'

/** A recurring job. For each scheduled time, one of the processes that share the database runs it. */
export interface Job {
  name: string
  /** A description for users, in Italian. */
  description: string
  /** A cron expression in the time zone Europe/Rome. */
  cron: string
  /** Whether every process runs the job. */
  everyProcess?: boolean
  /** Whether an `everyProcess` job also runs when the server is ready. */
  atStart?: boolean
  run (): Promise<void>
}

interface ScheduledJob extends Job {
  /** The next scheduled time of an `everyProcess` job. */
  next: Date
  /** The first scheduled time after both the given instant and now. */
  nextAfter (instant: Date): Date
}

/** Computes the first time of a cron expression (Europe/Rome) after both an instant and now. */
function timesOf (cron: string): ScheduledJob['nextAfter'] {
  const task = createTask(cron, () => {}, { timezone: 'Europe/Rome' })
  return (instant) => {
    const from = new Date(Math.max(instant.getTime(), Date.now()))
    // The instant may be in the future if the clock was set back.
    for (let count = 2; ; count *= 2) {
      const time = task.getNextRuns(count).find((at) => at > from)
      if (time !== undefined) return time
    }
  }
}

/**
 * The public form of a job.
 * @param row the job's row, undefined until it is registered
 * @param isRunningHere whether this process runs it
 */
function present (job: ScheduledJob, row: JobRow | undefined, isRunningHere: boolean): JobResponse {
  const { name, description, cron, everyProcess = false, next: own, nextAfter } = job
  const isRunning = row !== undefined && row.lease_until !== null && !row.isLost
  const next = everyProcess ? own : row?.next_run_at ?? nextAfter(new Date())
  return {
    nome: name,
    descrizione: description,
    cron,
    ogni_processo: everyProcess,
    in_corso: everyProcess ? isRunningHere : isRunning,
    ...lastRun(row),
    prossimo_avvio: next.toISOString()
  }
}

function lastRun (row?: JobRow): Pick<JobResponse, 'ultimo_avvio' | 'durata_ms' | 'esito' | 'errore'> {
  if (row === undefined || row.started_at === null) {
    return { ultimo_avvio: null, durata_ms: null, esito: null, errore: null }
  }
  const { started_at: started, finished_at: finished, outcome, error, isLost } = row
  return {
    ultimo_avvio: started.toISOString(),
    durata_ms: finished && finished.getTime() - started.getTime(),
    esito: isLost ? 'interrotto' : outcome,
    errore: error
  }
}

/** A started run. `ended` resolves when its end is recorded, even after a failure. */
export interface Run { ended: Promise<void> }

export type JobRunner = ReturnType<typeof jobRunner>

export interface RunnerOptions {
  db: Database
  log: FastifyBaseLogger
  /** Whether the log already reports the cause of the error (a full disk), once for all jobs. */
  isReported?: (err: unknown) => boolean
  renewEveryMs?: number
  /** Aborts when shutdown begins. */
  shutdownSignal?: AbortSignal
}

/**
 * Runs the jobs of this process. A run of a shared job has a lease, which its process renews. It is repeated if its
 * process was killed, was paused longer than the lease, or could not record the end. A run that failed because of
 * shutdown is repeated too. So jobs must be idempotent.
 */
export function jobRunner (
  {
    db, log, isReported = () => false, renewEveryMs = 30_000,
    shutdownSignal = new AbortController().signal
  }: RunnerOptions
) {
  const jobs = new Map<string, ScheduledJob>()
  /** Names of the jobs that this process runs or is about to run. */
  const running = new Set<string>()
  /** The runs for which shutdown waits. */
  const underWay = new Set<Promise<void>>()
  let registration: Promise<void> | undefined
  let stopped = false
  const isEnding = () => stopped || shutdownSignal.aborted

  function add (job: Job): void {
    const nextAfter = timesOf(job.cron)
    const now = new Date()
    jobs.set(job.name, { ...job, next: job.atStart ? now : nextAfter(now), nextAfter })
    registration = undefined
  }

  /** Runs due jobs and lost runs. Resolves when the runs end, and never rejects. */
  async function runDue (now = new Date()): Promise<void> {
    if (isEnding()) return
    const own = [...jobs.values()].filter(({ everyProcess, next }) => everyProcess && next <= now)
    await Promise.all([...own.map((job) => runOwn(job, now)), track(runShared(now).catch((err: unknown) =>
      report(err, 'due jobs could not be read')))])
  }

  async function runOwn (job: ScheduledJob, now: Date): Promise<void> {
    job.next = job.nextAfter(now)
    await (await begin(job, async () => true))?.ended
  }

  async function runShared (now: Date): Promise<void> {
    await register()
    const names = [...jobs.values()]
      .filter(({ name, everyProcess }) => !everyProcess && !running.has(name))
      .map(({ name }) => name)
    await Promise.all((await findDue(db, names, now)).map(async (due) => {
      await runTaken(due, now).catch((err: unknown) => report(err, 'job could not be started', due.name))
    }))
  }

  async function runTaken (due: DueJob, now: Date): Promise<void> {
    const job = jobs.get(due.name)!
    const run = await begin(job, (id) => takeDue(db, due, id, job.nextAfter(now)))
    if (run && due.claimed_by !== null) log.warn({ job: due.name }, 'the process of a job died: the job is repeated')
    await run?.ended
  }

  /**
   * Runs a job now. Does not change its next scheduled time.
   * @param record runs last in the transaction that claims the run. If it fails, the job does not run
   * @returns the run, or `running` if the job already runs, in this process or, for a shared job, in another
   */
  async function start (
    name: string,
    record: (tx: Transaction) => Promise<void>
  ): Promise<Run | 'unknown' | 'running'> {
    const job = jobs.get(name)
    if (job === undefined) return 'unknown'
    if (isEnding()) throw new ServizioOccupato()
    const take = (id: string) => db.transaction(async (tx) => {
      const taken = job.everyProcess || await takeNow(tx, name, id)
      if (taken) await record(tx)
      return taken
    })
    return await track(register().then(() => begin(job, take))) ?? 'running'
  }

  /** All jobs of this process, by name. */
  async function list (): Promise<JobResponse[]> {
    const rows = new Map((await findJobs(db)).map((row) => [row.name, row]))
    return [...jobs.values()]
      .sort((one, other) => (one.name < other.name ? -1 : 1))
      .map((job) => present(job, rows.get(job.name), running.has(job.name)))
  }

  /** Starts no further runs, and waits for the running ones. */
  async function stop (): Promise<void> {
    stopped = true
    while (underWay.size > 0) await Promise.all(underWay)
  }

  function track<T> (work: Promise<T>): Promise<T> {
    const over = work.then(() => {}, () => {}).then(() => { underWay.delete(over) })
    underWay.add(over)
    return work
  }

  async function register (): Promise<void> {
    registration ??= registerJobs(db, [...jobs.values()].map(({ name, cron, nextAfter }) =>
      ({ name, cron, next_run_at: nextAfter(new Date()) })))
    const current = registration
    try {
      await current
    } catch (err) {
      if (registration === current) registration = undefined
      throw err
    }
  }

  /** @returns undefined if the run was not claimed */
  async function begin (job: ScheduledJob, take: (run: string) => Promise<boolean>): Promise<Run | undefined> {
    if (running.has(job.name)) return undefined
    running.add(job.name)
    const id = randomUUID()
    let taken = false
    try {
      taken = await take(id)
    } finally {
      if (!taken) running.delete(job.name)
    }
    if (!taken) return undefined
    return { ended: track(carryOut(job, id).finally(() => running.delete(job.name))) }
  }

  async function carryOut (job: ScheduledJob, run: string): Promise<void> {
    const { name, everyProcess, nextAfter } = job
    const startedAt = performance.now()
    const renewal = everyProcess ? undefined : setInterval(() => { void renew(name, run) }, renewEveryMs)
    const end = await endOf(job)
    clearInterval(renewal)
    try {
      if (!everyProcess) return await recordEnd(db, name, run, end)
      const durationMs = performance.now() - startedAt
      await recordRun(db, name, nextAfter(new Date()), { ...end, durationMs })
    } catch (err) {
      // If the database is down, log only the job's own failure.
      if (end.outcome === 'riuscito') report(err, 'the end of a job could not be recorded', name)
    }
  }

  async function endOf ({ name, run }: ScheduledJob): Promise<End> {
    try {
      await run()
      return { outcome: 'riuscito', error: null }
    } catch (err) {
      if (shutdownSignal.aborted) {
        log.info({ job: name }, 'a job was interrupted by shutdown: it is run again')
        return { outcome: 'interrotto', error: null }
      }
      report(err, 'job failed', name)
      return { outcome: 'fallito', error: errorCode(err) }
    }
  }

  async function renew (name: string, run: string): Promise<void> {
    try {
      if (!await renewLease(db, name, run)) log.error({ job: name }, 'a job whose lease expired still runs')
    } catch (err) {
      if (!isReported(err)) log.warn({ err, job: name }, 'the lease of a job could not be renewed')
    }
  }

  function report (err: unknown, message: string, job?: string): void {
    if (!isReported(err)) log.error({ err, job }, message)
  }

  return { add, runDue, start, list, stop }
}
