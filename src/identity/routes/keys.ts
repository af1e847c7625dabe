import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ApiKeyList, KeyParams, KeyQuery, KeyRevokedAnswer, MintedKey, MintQuery } from '#schemas/api-key.ts'
import { AccountInAttesa, AmbitoInsufficiente, NonAutorizzato } from '#src/lib/errors.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { isPerson } from '../directory.ts'
import { ChiaveNonTrovata } from '../errors.ts'
import { listKeys, mintKey, revokeKey } from '../keys/key-store.ts'

const tags = ['Chiavi API']

/** API keys of persons: made by a person who is signed in, listed and revoked by them and by administrators. */
const keys: FastifyPluginAsyncTypebox = async (app) => {
  const { authenticator, directory, apiKeys, waitForListeners } = app.identity

  app.route({
    method: 'GET',
    url: '/api/cli/auth/key',
    // A HEAD would make a key and not show it.
    exposeHeadRoute: false,
    config: { access: 'user', scope: 'scrittura', recentFactor: true },
    schema: {
      operationId: 'mintChiave',
      errorCodes: ['TROPPE_CHIAVI', 'AMMINISTRAZIONE_NON_DISPONIBILE'],
      tags,
      summary: 'Una nuova chiave API di chi chiama, mostrata solo ora',
      querystring: MintQuery,
      response: { 200: MintedKey }
    },
    handler: async (request) => {
      const principal = request.principal!
      // A key would have the role at once that its person may get some day.
      if (principal.pending) throw new AccountInAttesa()
      return await app.db.transaction(async (tx) => {
        const isProven = await directory.lockSession(tx, principal)
        const minted = await mintKey(tx, apiKeys, principal.userId!, request.query, isProven)
        await app.audit.append(tx, {
          ...authorOf(request),
          action: 'chiave_creata',
          object: `key:${minted.id}`,
          details: { expires_at: minted.expires_at }
        })
        return minted
      })
    }
  })

  app.route({
    method: 'GET',
    url: '/api/v1/keys',
    config: { access: 'auth' },
    schema: {
      operationId: 'listChiavi',
      tags,
      summary: 'Le chiavi API di chi chiama, o di tutti',
      querystring: KeyQuery,
      response: { 200: ApiKeyList }
    },
    handler: async (request) => {
      const {
        principal,
        query: { tutte }
      } = request
      if (tutte) {
        if (!(await authenticator.isAdmin(principal!, request))) throw new NonAutorizzato()
        return { data: await listKeys(app.db) }
      }
      return { data: principal!.userId === undefined ? [] : await listKeys(app.db, principal!.userId) }
    }
  })

  app.route({
    method: 'DELETE',
    url: '/api/v1/keys/:id',
    // Every key may revoke itself; to revoke another one it needs the scope for writing.
    config: { access: 'auth', scope: 'lettura' },
    schema: {
      operationId: 'revokeChiave',
      errorCodes: ['CHIAVE_NON_TROVATA'],
      tags,
      summary: 'Revoca una chiave API',
      params: KeyParams,
      response: { 200: KeyRevokedAnswer }
    },
    handler: async (request) => {
      const {
        principal,
        params: { id }
      } = request
      const { keyId, scopes } = principal!
      if (keyId !== undefined && keyId !== id && !scopes?.includes('scrittura')) {
        throw new AmbitoInsufficiente('scrittura')
      }
      // The key of another person is answered like a missing key.
      const owner = (await authenticator.isAdmin(principal!, request)) ? undefined : (principal!.userId ?? '')
      if (owner === '') throw new ChiaveNonTrovata()
      await app.db.transaction(async (tx) => {
        // A key may always end itself.
        if (isPerson(principal!) && keyId !== id) await directory.requireLevel(tx, principal)
        if (!(await revokeKey(tx, id, owner))) throw new ChiaveNonTrovata()
        await app.audit.append(tx, { ...authorOf(request), action: 'chiave_revocata', object: `key:${id}` })
      })
      await waitForListeners()
      return { message: 'Chiave revocata', status: 200 }
    }
  })
}
export default keys
