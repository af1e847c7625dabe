import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { ApiKeyList, KeyParams, KeyQuery, KeyRevokedResponse, MintedKey, MintQuery } from '#schemas/api-key.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import { permits } from '#src/http/auth.ts'
import { AccountInAttesa, AmbitoInsufficiente, NonAutorizzato } from '#src/lib/errors.ts'
import { isPerson } from '../directory.ts'
import { route as providerRoute } from '../provider-route.ts'
import { ChiaveNonTrovata } from '../errors.ts'
import { listKeys, mintKey, revokeKey } from '../keys/key-store.ts'
import { record } from '../audit-record.ts'
import { RotateResponse, RotateBody } from '#schemas/signing-key.ts'
import emptyBody from '#src/http/empty-body.ts'

const route = routesUnder('Chiavi API')

const keyRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { authenticator, directory, apiKeys } = app.identity

  app.get('/api/cli/auth/key', {
    // No HEAD, because it would create a key and not show it.
    exposeHeadRoute: false,
    ...route(
      { access: 'user', scope: 'scrittura', recentFactor: true },
      'mintChiave', 'Una nuova chiave API di chi chiama, mostrata solo ora', {
        errorCodes: ['TROPPE_CHIAVI', 'AMMINISTRAZIONE_NON_DISPONIBILE'],
        querystring: MintQuery,
        response: { 200: MintedKey }
      }
    )
  }, async (request) => {
    const principal = request.principal!
    // Refused, because the key would immediately get any role that the person is given later.
    if (principal.pending) throw new AccountInAttesa()
    return await app.db.transaction(async (tx) => {
      const isProven = await directory.lockSession(tx, principal)
      const minted = await mintKey(tx, apiKeys, principal.userId!, request.query, isProven)
      await record(tx, request, 'chiave_creata', `key:${minted.id}`, { expires_at: minted.expires_at })
      return minted
    })
  })

  app.get('/api/v1/keys', route({ access: 'auth' }, 'listChiavi', 'Le chiavi API di chi chiama, o di tutti', {
    querystring: KeyQuery, response: { 200: ApiKeyList }
  }), async (request) => {
    const { principal, query: { tutte } } = request
    if (tutte) {
      if (!(await authenticator.isAdmin(principal!, request))) throw new NonAutorizzato()
      return { data: await listKeys(app.db) }
    }
    return { data: principal!.userId === undefined ? [] : await listKeys(app.db, principal!.userId) }
  })

  app.delete('/api/v1/keys/:id', {
    // A key with the read scope may revoke itself. To revoke another key, it needs the write scope.
    ...route({ access: 'auth', scope: 'lettura' }, 'revokeChiave', 'Revoca una chiave API', {
      errorCodes: ['CHIAVE_NON_TROVATA'], params: KeyParams, response: { 200: KeyRevokedResponse }
    })
  }, async (request) => {
    await revoke(request, request.params.id)
    return { message: 'Chiave revocata', status: 200 }
  })
}
export default keyRoutes

async function revoke (request: FastifyRequest, id: string): Promise<void> {
  const { server: app, principal } = request
  const { authenticator, directory, waitForListeners } = app.identity
  const { keyId } = principal!
  if (keyId !== undefined && keyId !== id && !permits(principal!, 'scrittura')) {
    throw new AmbitoInsufficiente('scrittura')
  }
  // For a caller who is not an administrator, another person's key is reported as missing.
  const owner = (await authenticator.isAdmin(principal!, request)) ? undefined : (principal!.userId ?? '')
  if (owner === '') throw new ChiaveNonTrovata()
  await app.db.transaction(async (tx) => {
    if (isPerson(principal!) && keyId !== id) await directory.requireLevel(tx, principal)
    if (!(await revokeKey(tx, id, owner))) throw new ChiaveNonTrovata()
    await record(tx, request, 'chiave_revocata', `key:${id}`)
  })
  await waitForListeners()
}

/** Route for an early rotation of the keys that sign access tokens. */
export const signingKeyRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { signer: { signingKeys }, waitForListeners } = app.identity
  await app.register(emptyBody)

  app.post('/api/v1/signing-keys/rotate', providerRoute(
    { access: 'admin', recentFactor: true, idempotent: true },
    'rotateChiaveDiFirma', 'Sostituisce la chiave che firma i token di accesso', {
      body: RotateBody, response: { 200: RotateResponse }
    }
  ), async (request) => {
    const { immediate = false } = request.body
    const { kid, signsFrom } = await signingKeys.rotate(immediate, async (tx, { kid }) => {
      await request.noteDone(tx)
      await record(tx, request, 'chiave_di_firma_ruotata', `signing_key:${kid}`, { immediate })
    })
    await waitForListeners()
    const message = immediate
      ? 'Nuova chiave di firma in uso: i token già emessi sono rifiutati e vanno rinnovati'
      : 'Nuova chiave di firma pubblicata: i token già emessi restano validi'
    return { kid, signs_from: signsFrom.toISOString(), message, status: 200 }
  })
}
