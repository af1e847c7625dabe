import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { Passkey, PasskeyBody, PasskeyOptions, PasskeyParams, PasskeyUpdate } from '#schemas/auth/passkey.ts'
import { EmptyBody } from '#schemas/auth/requests.ts'
import { Ref } from '#schemas/common.ts'
import { authorOf } from '#src/plugins/audit/log.ts'
import { AuthError } from '../../errors.ts'
import type { IdentityOptions } from '../../options.ts'
import { getUser } from '../../people/find-users.ts'
import { getSessionOwner } from '../../sign-in/sessions.ts'
import { parseUuid } from '../../uuid.ts'
import { askToCreate, readCreation } from './ceremonies.ts'
import {
  addCredential,
  keepChallenge,
  listPasskeys,
  presentPasskey,
  removePasskey,
  renamePasskey,
  takeChallenge
} from './credentials.ts'
import { relyingParty, type RelyingParty } from './relying-party.ts'

const tags = ['Provider di identità']
/** As with Supabase Auth. */
const MAX_PASSKEYS = 10

/** People's own passkeys. Who has a second factor needs it here, like everywhere. */
const passkeyRoutes: FastifyPluginAsyncTypebox<IdentityOptions> = async (app, { config }) => {
  const { db, audit } = app
  const party = relyingParty(config)

  app.route({
    method: 'POST',
    url: '/passkeys/registration/options',
    config: { access: 'user' },
    schema: {
      operationId: 'authPasskeyRegistrationOptions',
      tags,
      summary: 'Comincia la registrazione di una passkey',
      body: EmptyBody,
      response: { 200: PasskeyOptions }
    },
    handler: async ({ principal }) => {
      const rp = requireParty(party)
      const user = await getUser(db, principal!.userId!)
      const present = await listPasskeys(db, user.id)
      if (present.length >= MAX_PASSKEYS) throw new AuthError('too_many_passkeys')
      const { options, challenge } = await askToCreate(rp, user, present, 'passkey')
      const { id, expires_at } = await keepChallenge(db, 'registration', challenge, user.id)
      return { challenge_id: id, options, expires_at }
    }
  })

  app.route({
    method: 'POST',
    url: '/passkeys/registration/verify',
    config: { access: 'user' },
    schema: {
      operationId: 'authPasskeyRegistrationVerify',
      tags,
      summary: 'Registra una passkey',
      body: PasskeyBody,
      response: { 200: Ref(Passkey) }
    },
    handler: async (request) => {
      const rp = requireParty(party)
      const { userId, sessionId } = request.principal!
      const { challenge_id, credential } = request.body
      const challenge = await takeChallenge(db, 'registration', challenge_id, userId!)
      const made = await readCreation(rp, credential, challenge, 'passkey')
      if (!made) throw new AuthError('webauthn_verification_failed')
      return presentPasskey(await db.transaction(async (tx) => {
        const { id: user_id } = await getSessionOwner(tx, { userId: userId!, sessionId: sessionId! })
        if ((await listPasskeys(tx, user_id)).length >= MAX_PASSKEYS) throw new AuthError('too_many_passkeys')
        const row = await addCredential(tx, { ...made, user_id })
        await audit.append(tx, { ...authorOf(request), action: 'passkey_registrata', object: `passkey:${row.id}` })
        return row
      }))
    }
  })

  app.route({
    method: 'GET',
    url: '/passkeys',
    config: { access: 'user' },
    schema: {
      operationId: 'authListPasskeys',
      tags,
      summary: 'Le proprie passkey',
      response: { 200: Type.Array(Ref(Passkey), { examples: [Passkey.examples] }) }
    },
    handler: async ({ principal }) => (await listPasskeys(db, principal!.userId!)).map(presentPasskey)
  })

  app.route({
    method: 'PATCH',
    url: '/passkeys/:passkey_id',
    config: { access: 'user' },
    schema: {
      operationId: 'authRenamePasskey',
      tags,
      summary: 'Dà un nome a una propria passkey',
      params: PasskeyParams,
      body: PasskeyUpdate,
      response: { 200: Ref(Passkey) }
    },
    handler: async ({ principal, params, body }) => {
      const id = parseUuid(params.passkey_id, 'passkey_id')
      return presentPasskey(await db.transaction((tx) => renamePasskey(tx, principal!.userId!, id, body.friendly_name)))
    }
  })

  app.route({
    method: 'DELETE',
    url: '/passkeys/:passkey_id',
    config: { access: 'user' },
    schema: {
      operationId: 'authDeletePasskey',
      tags,
      summary: 'Elimina una propria passkey',
      params: PasskeyParams,
      response: { 204: Type.Null() }
    },
    handler: async (request, reply) => {
      const id = parseUuid(request.params.passkey_id, 'passkey_id')
      await db.transaction(async (tx) => {
        await removePasskey(tx, request.principal!.userId!, id)
        await audit.append(tx, { ...authorOf(request), action: 'passkey_eliminata', object: `passkey:${id}` })
      })
      return await reply.code(204).send(null)
    }
  })
}
export default passkeyRoutes

/** @throws AuthError passkey_disabled */
export function requireParty (party: RelyingParty | undefined): RelyingParty {
  if (party === undefined) throw new AuthError('passkey_disabled')
  return party
}
