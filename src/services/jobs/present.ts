import type { Job as JobAnswer } from '#schemas/job.ts'
import type { ScheduledJob } from './job.ts'
import type { JobRow } from './repository.ts'

/**
 * A job as it is shown.
 * @param row what the database knows of it; undefined until it is made known there
 * @param isRunningHere this process runs it
 */
export function present (job: ScheduledJob, row: JobRow | undefined, isRunningHere: boolean): JobAnswer {
  const { name, description, cron, everyProcess = false, nextAfter } = job
  const isRunning = row !== undefined && row.lease_until !== null && !row.isLost
  const next = row === undefined || everyProcess ? nextAfter(new Date()) : row.next_run_at
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

function lastRun (row?: JobRow): Pick<JobAnswer, 'ultimo_avvio' | 'durata_ms' | 'esito' | 'errore'> {
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
