import { setTimeout as sleep } from 'node:timers/promises'
import type { Job, JobResponse, JobList } from '#schemas/job.ts'
import { call, type Context } from '../command-context.ts'
import { EXIT, type Exit } from '../errors.ts'
import { expectBody } from '../server-call.ts'
import { moment, table, type Column } from '../output.ts'

const PATH = '/api/v1/jobs'
const POLL_MS = 1000

const COLUMNS: readonly Column[] = [
  { title: 'lavoro' },
  { title: 'ultimo avvio' },
  { title: 'durata', right: true },
  { title: 'esito', max: 40 },
  { title: 'prossimo avvio' }
]

/** Runs a job and waits for its end. Without a name, lists the jobs. */
export async function job (context: Context, name: string | undefined): Promise<Exit> {
  if (name === undefined) return await listJobs(context)
  const response = await call(context, `${PATH}/${encodeURIComponent(name)}/avvia`, { method: 'POST' })
  const { data: started } = expectBody<JobResponse>(response, 'data')
  const ended = started.in_corso ? await waitForEnd(context, started) : started
  context.out.result(`${ended.nome}: ${outcome(ended)} in ${duration(ended)}`, ended)
  if (ended.esito === 'fallito') {
    context.out.note(`Il motivo è nel log del server: la riga «job failed» con "job":"${ended.nome}"`)
  }
  return ended.esito === 'riuscito' ? EXIT.ok : EXIT.failed
}

async function listJobs (context: Context): Promise<Exit> {
  const jobs = await readJobs(context)
  const rows = jobs.map((job) => [
    job.nome,
    job.ultimo_avvio === null ? '—' : moment(job.ultimo_avvio),
    duration(job),
    outcome(job),
    moment(job.prossimo_avvio)
  ])
  context.out.result(table(COLUMNS, rows), { data: jobs })
  return EXIT.ok
}

async function waitForEnd (context: Context, started: Job): Promise<Job> {
  context.out.note(`${started.nome}: in corso…`)
  let job: Job | undefined = started
  while (job?.in_corso) {
    await sleep(POLL_MS)
    job = (await readJobs(context)).find(({ nome }) => nome === started.nome)
  }
  return job ?? started
}

async function readJobs (context: Context): Promise<Job[]> {
  return expectBody<JobList>(await call(context, PATH), 'data').data
}

function outcome ({ in_corso: running, esito, errore }: Job): string {
  if (running) return 'in corso'
  return errore === null ? esito ?? '—' : `${esito} (${errore})`
}

function duration ({ durata_ms: ms }: Job): string {
  if (ms === null) return '—'
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toLocaleString('it', { maximumFractionDigits: 1 })} s`
}
