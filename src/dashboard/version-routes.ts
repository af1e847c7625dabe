import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { VersionAnswer } from '#schemas/version.ts'
import type { Config } from '#src/config/config.ts'
import { runningVersion, VERSION, type Running } from '#src/lib/version.ts'

/** What is running here. */
const version: FastifyPluginAsyncTypebox<{ config: Config }> = async (app, { config }) => {
  let running: Promise<Running> | undefined

  app.route({
    method: 'GET',
    url: '/api/version',
    config: { access: 'public' },
    schema: {
      operationId: 'getVersion',
      tags: ['Sistema'],
      summary: 'La versione del servizio, il suo commit e il nome del deploy',
      response: { 200: VersionAnswer }
    },
    handler: async (_request, reply) => {
      // The files do not change under a process: git answers once.
      running ??= runningVersion()
      const { version, commit } = await running.catch(() => {
        // On a busy machine git may take too long: the next caller has it asked again.
        running = undefined
        return { version: VERSION, commit: '' }
      })
      reply.header('cache-control', 'public, max-age=300')
      return { version, latestCommit: commit, hostingDeploy: config.HOSTING_DEPLOY ?? 'local' }
    }
  })
}
export default version
