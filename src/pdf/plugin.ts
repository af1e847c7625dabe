import fp from 'fastify-plugin'
import type { Config } from '#src/config/config.ts'
import { serverOf } from '#src/lib/addresses.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import type { RunOptions } from '#src/services/workers/pool.ts'
import type { CheckJob, CheckResult } from './check-task.ts'
import { externalEngine } from './engines/engine.ts'
import type { PdfJob } from './jobs.ts'
import { checkTemplate, makeElsewhere, makePdf, type Pdf } from './make.ts'
import {
  countPdfs, findPdf, pdfPage, recordPdf, removePdfs, type GeneratedPdf, type NewPdf, type PdfFilters, type PdfPage
} from './records.ts'

/** PDFs: how they are made, and which of them are kept. */
export interface Pdfs {
  /**
   * Makes a PDF, off the event loop, by the engine that is configured.
   * @throws ModelloNonValido (400) for what is wrong with the template or the data
   * @throws ServizioOccupato when too much work waits already
   * @throws LavoroTroppoLungo or LavoroNonRiuscito past its time or memory; of an engine elsewhere, `engines/errors.ts`
   */
  make (job: PdfJob, options: Pick<RunOptions, 'caller' | 'signal'>): Promise<Pdf>
  /** Tries a template out: which variables it wants, and what is wrong with it. */
  check (job: CheckJob, options: Pick<RunOptions, 'caller' | 'signal'>): Promise<CheckResult>
  /**
   * Puts a PDF on record, in the transaction that keeps its file (`storage.keep`). The record goes with the file: where
   * that is discarded or replaced, there is nothing to do.
   */
  record (tx: Transaction, pdf: NewPdf): Promise<GeneratedPdf>
  /** Forgets PDFs and discards their files, in the caller's transaction. */
  remove (tx: Transaction, ids: readonly string[]): Promise<void>
  find (db: Executor, id: string): Promise<GeneratedPdf | undefined>
  /** The newest first. */
  page (db: Executor, filters: PdfFilters, limit: number, cursor?: string): Promise<PdfPage>
  count (db: Executor, filters: PdfFilters): Promise<number>
}

declare module 'fastify' {
  interface FastifyInstance {
    pdf: Pdfs
  }
}

interface PdfOptions {
  config: Config
  /** For tests: milliseconds for one answer of an engine elsewhere. */
  patienceMs?: number | undefined
}

/** Makes PDFs for all areas, and keeps their records. */
export default fp<PdfOptions>(async function pdf (app, { config, patienceMs }) {
  const engine = externalEngine(config, app.log, patienceMs)
  if (engine) app.expectReachable({ setting: 'PDF_ENGINE_URL', ...serverOf(config.PDF_ENGINE_URL!) })
  app.decorate('pdf', {
    make: (job, options) => engine ? makeElsewhere(app, engine, job, options) : makePdf(app, job, options),
    check: (job, options) => checkTemplate(app, job, options),
    record: recordPdf,
    remove: (tx, ids) => removePdfs(app.storage, tx, ids),
    find: findPdf,
    page: pdfPage,
    count: countPdfs
  })
}, { name: 'pdf', dependencies: ['workers', 'storage', 'reachability'] })
