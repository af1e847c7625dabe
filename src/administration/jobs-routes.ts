import { within } from '#src/lib/within.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Closed } from '#schemas/common.ts'
import { Job, JobAnswer, JobList, JobParams, JobUnderWay } from '#schemas/job.ts'
import { authorOf } from '#src/services/audit/log.ts'
import noBody from '#src/http/no-body.ts'
import { LavoroInCorso, LavoroNonTrovato } from './errors.ts'

const tags = ['Sistema']
/** How long a caller waits for the end of a run. */
const ANSWER_WITHIN_MS = 10_000

/** The recurring work of the server, and starting it by hand. */
const jobsRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { jobs } = app
  app.addSchema(Job)
  await app.register(noBody)

  app.route({
    method: 'GET',
    url: '/api/v1/jobs',
    config: { access: 'admin' },
    schema: {
      operationId: 'listLavori',
      tags,
      summary: 'I lavori periodici: ultimo avvio, durata, esito, prossimo avvio',
      response: { 200: JobList }
    },
    handler: async () => ({ data: await jobs.list() })
  })

  app.route({
    method: 'POST',
    url: '/api/v1/jobs/:nome/avvia',
    config: { access: 'admin' },
    schema: {
      operationId: 'avviaLavoro',
      errorCodes: ['LAVORO_NON_TROVATO', 'LAVORO_IN_CORSO'],
      tags,
      summary: 'Avvia subito un lavoro; 202 se dopo 10 secondi è ancora in corso',
      params: JobParams,
      body: Closed({}, { examples: [{}] }),
      response: { 200: JobAnswer, 202: JobUnderWay }
    },
    handler: async (request, reply) => {
      const { nome } = request.params
      const run = await jobs.start(nome, (tx) =>
        app.audit.append(tx, { ...authorOf(request), action: 'lavoro', object: `lavoro:${nome}` })
      )
      if (run === 'unknown') throw new LavoroNonTrovato()
      if (run === 'running') throw new LavoroInCorso()
      await within(ANSWER_WITHIN_MS, run.ended)
      const data = (await jobs.list()).find((job) => job.nome === nome)
      if (data === undefined) throw new LavoroNonTrovato()
      reply.code(data.in_corso ? 202 : 200)
      return { data }
    }
  })
}
export default jobsRoutes
