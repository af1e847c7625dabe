import type { FastifyBaseLogger, FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '#src/config/config.ts'
import { serverOf } from '#src/lib/addresses.ts'
import { warningsHeader } from '#src/lib/warnings-header.ts'
import type { Transaction } from '#src/database/connect.ts'
import type { RunOptions } from '#src/services/workers/pool.ts'
import type { default as checkTask, CheckJob, CheckResult } from './check-task.ts'
import { apitemplate } from './engines/apitemplate.ts'
import { gotenberg } from './engines/gotenberg.ts'
import type { Engine } from './engines/printed-page.ts'
import type { PdfJob } from './pdf-jobs.ts'
import { countPdfs, findPdf, pdfPage, recordPdf, removePdfs } from './records.ts'
import { requestError } from './request-error.ts'
import type { default as pdfTask, makeHtml } from './task.ts'

/* Worker tasks. Only worker threads load the PDF engine. */
const TASK = new URL('task.ts', import.meta.url)
const HTML_TASK = new URL('html-task.ts', import.meta.url)
const CHECK_TASK = new URL('check-task.ts', import.meta.url)
const DEADLINE_MS = 45_000

type WorkOptions = Pick<RunOptions, 'caller' | 'signal'>

export interface Pdf {
  bytes: Buffer
  /** Warnings for the template's author: missing variables, unsupported characters. */
  warnings: { codice: string, messaggio: string }[]
}

/** Makes PDFs, and manages the records of stored ones. */
interface Pdfs {
  /**
   * Makes a PDF off the event loop, with the configured engine.
   * @throws ModelloNonValido (400) for an error in the template or the data
   * @throws ServizioOccupato when the queue is full
   * @throws LavoroTroppoLungo or LavoroNonRiuscito past a limit of time or memory, or an error of `engines/errors.ts`
   */
  make (job: PdfJob, options: WorkOptions): Promise<Pdf>
  /** Checks a template. Returns its variables, its first error and its warnings. */
  check (job: CheckJob, options: WorkOptions): Promise<CheckResult>
  record: typeof recordPdf
  /** Deletes records and discards their files, in the caller's transaction. */
  remove (tx: Transaction, ids: readonly string[]): Promise<void>
  find: typeof findPdf
  page: typeof pdfPage
  count: typeof countPdfs
}

declare module 'fastify' {
  interface FastifyInstance {
    pdf: Pdfs
  }
}

interface PdfOptions {
  config: Config
  /** For tests: timeout of a request to an external engine. */
  timeoutMs?: number | undefined
}

/** Decorates the app with `app.pdf`. */
export default fp<PdfOptions>(async function pdf (app, { config, timeoutMs }) {
  const engine = externalEngine(config, app.log, timeoutMs)
  if (engine) app.addHealthCheck({ setting: 'PDF_ENGINE_URL', ...serverOf(config.PDF_ENGINE_URL!) })

  async function makeHere (job: PdfJob, options: WorkOptions): Promise<Pdf> {
    const made = await app.pdfWorkers.run<typeof pdfTask>(TASK, job, { ...options, deadlineMs: DEADLINE_MS })
    if (made.fault !== null) throw requestError(job, made.fault)
    const { buffer, byteOffset, byteLength } = made.bytes
    return { bytes: Buffer.from(buffer, byteOffset, byteLength), warnings: made.warnings }
  }

  /** Makes a PDF in two steps: a worker builds the HTML, and an external engine prints it. */
  async function makeElsewhere (engine: Engine, job: PdfJob, options: WorkOptions): Promise<Pdf> {
    const made = await app.pdfWorkers.run<typeof makeHtml>(HTML_TASK, job, { ...options, deadlineMs: DEADLINE_MS })
    if (made.fault !== null) throw requestError(job, made.fault)
    return { bytes: await engine(made, options.signal), warnings: made.warnings }
  }

  app.decorate('pdf', {
    make: (job, options) => engine ? makeElsewhere(engine, job, options) : makeHere(job, options),
    check: (job, options) =>
      app.pdfWorkers.run<typeof checkTask>(CHECK_TASK, job, { ...options, deadlineMs: DEADLINE_MS }),
    record: recordPdf,
    remove: (tx, ids) => removePdfs(app.files, tx, ids),
    find: findPdf,
    page: pdfPage,
    count: countPdfs
  })
}, { name: 'pdf', dependencies: ['workers', 'files', 'startup-health-check'] })

/** The configured external engine. Undefined when this server renders PDFs itself. */
function externalEngine (config: Config, log: FastifyBaseLogger, timeoutMs?: number): Engine | undefined {
  const { PDF_ENGINE: name, PDF_ENGINE_URL: address, PDF_ENGINE_KEY: key } = config
  if (name === undefined || address === undefined) return undefined
  const url = new URL(address)
  return name === 'gotenberg'
    ? gotenberg({ url, key, timeoutMs })
    : apitemplate({ url, key: key!, log, timeoutMs })
}

/** Sets `X-PDF-Warnings`. Without warnings there is no header. */
export function warn (reply: FastifyReply, { warnings }: Pick<Pdf, 'warnings'>): void {
  const text = warningsHeader(warnings)
  if (text !== undefined) reply.header('x-pdf-warnings', text)
}
