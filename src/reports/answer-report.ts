import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '#src/config/config.ts'
import { prefers } from '#src/lib/accept.ts'
import type { Clock } from '#src/lib/time.ts'
import { REPORT_TEMPLATE, warn, type PdfJob, type ReportRows } from '#src/pdf/index.ts'
import { ChiaveEseguita } from '#src/http/idempotency/plugin.ts'
import { keepPdf, madeAnswer, makeFor, sendPdf, type App } from './kept-pdfs.ts'
import { findTemplate } from './templates/repository.ts'
import { ownerOf } from './whose.ts'

export interface ReportWishes {
  rows: ReportRows
  templateId: string | undefined
  user_id: string | undefined
  titolo: string | undefined
}

interface Parts { config: Config, clock: Clock }

/**
 * Makes a financial report and answers with it or, where the client would rather have JSON, with where it is. It is
 * kept for a person, and where JSON is wanted.
 */
export async function answerReport (
  app: App, { config, clock }: Parts, request: FastifyRequest, reply: FastifyReply, wishes: ReportWishes
): Promise<unknown> {
  const wantsJson = prefers(request.headers.accept, 'application/json', 'application/pdf')
  if (request.begun !== null) return await answerAgain(app, config, request, reply, wantsJson)
  const { templateId = REPORT_TEMPLATE, user_id, titolo } = wishes
  const utente = await ownerOf(app, request, user_id)
  const pdf = await makeFor(app, reply, await jobOf(app, clock, wishes))
  const nome = `${(titolo ?? 'report').trim() || 'report'}-${clock.today()}.pdf`
  warn(reply, pdf)
  // A repeated request is answered from the record, in the form that it asks for.
  request.isUndecided = true
  if (utente === null && !wantsJson) return sendPdf(reply, pdf.bytes, nome)
  const description = { tipo: 'report_finanziario' as const, utente, template_id: templateId, nome }
  const record = await keepPdf(app, request, pdf, description)
  return wantsJson ? madeAnswer(config.PUBLIC_URL, record) : sendPdf(reply, pdf.bytes, nome)
}

async function jobOf (
  { db }: App, clock: Clock, { rows, templateId = REPORT_TEMPLATE, titolo }: ReportWishes
): Promise<PdfJob> {
  const source = templateId === REPORT_TEMPLATE ? undefined : (await findTemplate(db, templateId)).template
  const data = clock.today()
  return { kind: 'report', request: { ...rows, titolo, data }, source, date: Date.parse(`${data}T00:00:00Z`) }
}

/** What a request with the same key has made. */
async function answerAgain (
  { db, pdf, storage }: App, config: Config, request: FastifyRequest, reply: FastifyReply, wantsJson: boolean
): Promise<unknown> {
  request.isUndecided = true
  const record = await pdf.find(db, request.begun![0]!)
  const object = record && await storage.find(db, record.bucket, record.oggetto)
  if (!object) throw new ChiaveEseguita()
  reply.header('idempotency-replayed', 'true')
  if (wantsJson) return madeAnswer(config.PUBLIC_URL, record)
  const pieces = await (await storage.read(object)).toArray() as Buffer[]
  return sendPdf(reply, Buffer.concat(pieces), record.nome)
}
