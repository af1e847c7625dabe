import { fileURLToPath } from 'node:url'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { VersionAnswer } from '#schemas/version.ts'
import type { Config } from '#src/config/config.ts'
import { GIT_HEAD, VERSION } from '#src/lib/version.ts'
import { checkedOutCommit, commitOf } from './version-commit.ts'

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url))

/** What is running here. */
const version: FastifyPluginAsyncTypebox<{ config: Config }> = async (app, { config }) => {
  let commit: Promise<string> | undefined

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
      // What a build has noted counts. The files do not change under a process: git answers once.
      commit ??= GIT_HEAD === undefined ? checkedOutCommit(PACKAGE) : Promise.resolve(commitOf(GIT_HEAD))
      const latestCommit = await commit.catch(() => {
        // On a busy machine git may take too long: the next caller has it asked again.
        commit = undefined
        return ''
      })
      reply.header('cache-control', 'public, max-age=300')
      return { version: VERSION, latestCommit, hostingDeploy: config.HOSTING_DEPLOY ?? 'local' }
    }
  })
}
export default version
