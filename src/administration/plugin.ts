import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { AuditEvent, AuditList, AuditQuery, AuditVerification } from '#schemas/audit.ts'
import { Closed } from '#schemas/common.ts'
import { Job, JobResponse, JobList, JobParams, JobUnderWay } from '#schemas/job.ts'
import type { Config } from '#src/config/config.ts'
import type { RequestFields } from '#src/http/validation-errors.ts'
import emptyBody from '#src/http/empty-body.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import { DEFAULT_LIMIT, nextLink } from '#src/lib/paging.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { waitAtMost } from '#src/lib/wait-at-most.ts'
import { auditPage, boundsErrors, countEntries } from '#src/services/audit/list.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { LavoroInCorso, LavoroNonTrovato } from './errors.ts'
import pages from './admin-pages.ts'

const route = routesUnder('Sistema')
/** Maximum time that a request waits for the end of a job. */
const RESPOND_WITHIN_MS = 10_000

const auditRoute = route(
  { access: 'admin', findValidationErrors: ({ query }: RequestFields) => boundsErrors(query) },
  'listAudit', 'Il registro delle azioni, dalla più recente, a pagine', {
    querystring: AuditQuery, response: { 200: AuditList }
  }
)

const verificationRoute = route(
  { access: 'admin' }, 'verificaAudit', 'Ripercorre il registro delle azioni e dice se è integro', {
    response: { 200: AuditVerification }
  }
)

const jobsRoute = route(
  { access: 'admin' }, 'listLavori', 'I lavori periodici: ultimo avvio, durata, esito, prossimo avvio', {
    response: { 200: JobList }
  }
)

const startRoute = route(
  { access: 'admin' }, 'avviaLavoro', 'Avvia subito un lavoro; 202 se dopo 10 secondi è ancora in corso', {
    errorCodes: ['LAVORO_NON_TROVATO', 'LAVORO_IN_CORSO'],
    params: JobParams,
    body: Closed({}, { examples: [{}] }),
    response: { 200: JobResponse, 202: JobUnderWay }
  }
)

/** Routes of the audit log, for administrators. */
const auditRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { db } = app
  app.addSchema(AuditEvent)

  app.get('/api/v1/audit', auditRoute, async (request, reply) => {
    const { limit = DEFAULT_LIMIT, cursor, conteggio = cursor === undefined, ...filters } = request.query
    const [{ data, next }, total] = await Promise.all([
      auditPage(db, filters, limit, cursor),
      conteggio ? countEntries(db, filters) : undefined
    ])
    if (total !== undefined) reply.header('x-total-count', total)
    if (next) reply.header('link', nextLink('/api/v1/audit', request.query, next))
    return { data }
  })

  app.get('/api/v1/audit/verifica', verificationRoute, async () => ({ ...(await app.audit.verify()), status: 200 }))
}

/** Routes that list the server's recurring jobs, and start one. */
const jobsRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { jobs } = app
  app.addSchema(Job)
  await app.register(emptyBody)

  app.get('/api/v1/jobs', jobsRoute, async () => ({ data: await jobs.list() }))

  app.post('/api/v1/jobs/:nome/avvia', startRoute, async (request, reply) => {
    const { nome } = request.params
    const run = await jobs.start(nome, (tx) =>
      app.audit.append(tx, { ...authorOf(request), action: 'lavoro', object: `lavoro:${nome}` })
    )
    if (run === 'unknown') throw new LavoroNonTrovato()
    if (run === 'running') throw new LavoroInCorso()
    await waitAtMost(RESPOND_WITHIN_MS, run.ended)
    const data = (await jobs.list()).find((job) => job.nome === nome)
    if (data === undefined) throw new LavoroNonTrovato()
    reply.code(data.in_corso ? 202 : 200)
    return { data }
  })
}

/** The pages under `/ad/`, the audit log and the jobs, for administrators. */
const administration: FastifyPluginAsyncTypebox<{ config: Config, keys: Keys }> = async (app, { config, keys }) => {
  await app.register(auditRoutes)
  await app.register(jobsRoutes)
  await app.register(pages, { config, keys })
}
export default administration
