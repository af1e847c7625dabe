import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { SandboxRecords } from '#schemas/alloggiati.ts'
import { acquired } from '../service/sandbox/store.ts'

/** What the sandbox has acquired. Only a server in sandbox mode has this route. */
export const sandboxRoutes: FastifyPluginAsyncTypebox<{ utente: string }> = async (app, { utente }) => {
  app.route({
    method: 'GET',
    url: '/api/alloggiati/sandbox/schedine',
    config: { access: 'auth' },
    schema: {
      operationId: 'listSchedineSandbox',
      tags: ['Alloggiati Web'],
      summary: 'Le schedine acquisite dalla sandbox',
      response: { 200: SandboxRecords }
    },
    handler: async () => ({
      data: (await acquired(app.db, utente)).map((row) => ({
        ...row,
        acquisita_il: new Date(row.acquisita_il).toISOString()
      }))
    })
  })
}
