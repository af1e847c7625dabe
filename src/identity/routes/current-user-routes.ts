import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { RevokeResponse, RevokeBody, SessionList, UnlinkResponse, UnlinkBody } from '#schemas/session.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import { ServeUnaPersona } from '#src/lib/errors.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import emptyBody from '#src/http/empty-body.ts'
import { isPerson } from '../directory.ts'

const route = routesUnder('Sessioni')

const currentUserRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { directory, waitForListeners } = app.identity
  await app.register(emptyBody)

  app.get('/api/sessions', route(
    { access: 'auth' }, 'listSessioni', 'Le sessioni attive di chi chiama, su tutti i dispositivi', {
      response: { 200: SessionList }
    }
  ), async ({ principal }) => (isPerson(principal!) ? await directory.sessions(principal) : []))

  app.post('/api/sessions/revoke-all', route(
    { access: 'auth' }, 'revokeSessioni', 'Chiude tutte le sessioni di chi chiama, e ne revoca le chiavi API', {
      body: RevokeBody, response: { 200: RevokeResponse }
    }
  ), async (request) => {
    const { principal, body: { revoca_chiavi: alsoKeys = true } } = request
    const revoked = isPerson(principal!) ? await directory.revokeAll(request, principal, alsoKeys) : 0
    await waitForListeners()
    return {
      success: true,
      message: countWithNoun(revoked, 'sessione chiusa', 'sessioni chiuse'),
      revoked,
      status: 200
    }
  })

  app.post('/api/auth/unlink', route(
    { access: 'auth' }, 'unlinkProvider', 'Scollega un provider dall’account di chi chiama', {
      errorCodes: ['SCOLLEGAMENTO_NON_AMMESSO', 'PROVIDER_NON_COLLEGATO', 'EMAIL_GIA_REGISTRATA', 'UNICA_IDENTITA'],
      body: UnlinkBody,
      response: { 200: UnlinkResponse }
    }
  ), async (request) => {
    const { principal, body: { provider } } = request
    if (!isPerson(principal!)) throw new ServeUnaPersona()
    await directory.unlink(request, principal, provider)
    await waitForListeners()
    return { success: true, message: `Provider ${provider} scollegato`, status: 200 }
  })
}
export default currentUserRoutes
