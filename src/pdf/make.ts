import type { FastifyInstance } from 'fastify'
import type { RunOptions } from '#src/services/workers/pool.ts'
import type { default as checkTask, CheckJob, CheckResult } from './check-task.ts'
import type { Engine } from './engines/page.ts'
import type { PdfJob } from './jobs.ts'
import { refusalOf } from './refusal.ts'
import type { default as task, makeHtml } from './task.ts'

/** The engine is loaded in the thread alone: the server starts and idles without it. */
const TASK = new URL('task.ts', import.meta.url)
const HTML = new URL('html-task.ts', import.meta.url)
const CHECK = new URL('check-task.ts', import.meta.url)
/** With the time that it waits for others. */
const DEADLINE_MS = 60_000

export interface Pdf {
  bytes: Buffer
  /** What its author should know: variables that the data lack, characters that no font has. */
  warnings: { codice: string, messaggio: string }[]
}

/**
 * Makes a PDF, off the event loop.
 * @throws ModelloNonValido (400) for what is wrong with the template or the data
 * @throws ServizioOccupato when too much work waits already
 * @throws LavoroTroppoLungo or LavoroNonRiuscito past its time or memory
 */
export async function makePdf (
  app: FastifyInstance,
  job: PdfJob,
  options: Pick<RunOptions, 'caller' | 'signal'>
): Promise<Pdf> {
  const made = await app.workers.run<typeof task>(TASK, job, { ...options, deadlineMs: DEADLINE_MS })
  if (made.fault !== null) throw refusalOf(job, made.fault)
  const { bytes, warnings } = made
  return { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), warnings }
}

/**
 * Makes a PDF by an engine elsewhere: its page is made here, in a thread.
 * @throws as `makePdf` does, and the errors of `engines/errors.ts`
 */
export async function makeElsewhere (
  app: FastifyInstance,
  engine: Engine,
  job: PdfJob,
  options: Pick<RunOptions, 'caller' | 'signal'>
): Promise<Pdf> {
  const made = await app.workers.run<typeof makeHtml>(HTML, job, { ...options, deadlineMs: DEADLINE_MS })
  if (made.fault !== null) throw refusalOf(job, made.fault)
  return { bytes: await engine(made, { signal: options.signal }), warnings: made.warnings }
}

/**
 * Tries a template out, off the event loop.
 * @throws as `makePdf` does; what is wrong with the template is a part of the result
 */
export async function checkTemplate (
  app: FastifyInstance,
  job: CheckJob,
  options: Pick<RunOptions, 'caller' | 'signal'>
): Promise<CheckResult> {
  return await app.workers.run<typeof checkTask>(CHECK, job, { ...options, deadlineMs: DEADLINE_MS })
}
