import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { RotateAnswer, RotateBody } from '#schemas/signing-key.ts'
import { authorOf } from '#src/services/audit/log.ts'
import noBody from '#src/http/no-body.ts'

/** Replacing the keys that sign access tokens before their time. */
const signingKeyRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { signer: { signingKeys }, waitForListeners } = app.identity
  await app.register(noBody)

  app.route({
    method: 'POST',
    url: '/api/v1/signing-keys/rotate',
    config: { access: 'admin', recentFactor: true, idempotent: true },
    schema: {
      operationId: 'rotateChiaveDiFirma',
      tags: ['Provider di identità'],
      summary: 'Sostituisce la chiave che firma i token di accesso',
      body: RotateBody,
      response: { 200: RotateAnswer }
    },
    handler: async (request) => {
      const { immediate = false } = request.body
      const { kid, signsFrom } = await signingKeys.rotate(immediate, async (tx, { kid }) => {
        await request.noteDone(tx)
        await app.audit.append(tx, {
          ...authorOf(request),
          action: 'chiave_di_firma_ruotata',
          object: `signing_key:${kid}`,
          details: { immediate }
        })
      })
      await waitForListeners()
      const message = immediate
        ? 'Nuova chiave di firma in uso: i token già emessi sono rifiutati e vanno rinnovati'
        : 'Nuova chiave di firma pubblicata: i token già emessi restano validi'
      return { kid, signs_from: signsFrom.toISOString(), message, status: 200 }
    }
  })
}
export default signingKeyRoutes
