import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { Passkey, PasskeyBody, PasskeyOptions, PasskeyParams, PasskeyUpdate } from '#schemas/auth/passkey.ts'
import { EmptyBody } from '#schemas/auth/requests.ts'
import { Ref } from '#schemas/common.ts'
import { authorOf } from '#src/services/audit/log.ts'
import type { Transaction } from '#src/database/connect.ts'
import { AuthError } from '../../errors.ts'
import type { IdentityOptions } from '../../options.ts'
import type { User } from '../../people/find-users.ts'
import { notify } from '../../sign-in/notices.ts'
import { endPasskeySessions, getSessionOwner, getSignedIn } from '../../sign-in/sessions.ts'
import { parseUuid } from '../../uuid.ts'
import { requireFresh } from '../proof.ts'
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
  const { db, audit, identity: { waitForListeners } } = app
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
      const { userId, sessionId } = principal!
      const user = await db.transaction(async (tx) => await freshOwner(tx, userId!, sessionId!))
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
      const passkey = await db.transaction(async (tx) => {
        const user = await freshOwner(tx, userId!, sessionId!)
        if ((await listPasskeys(tx, user.id)).length >= MAX_PASSKEYS) throw new AuthError('too_many_passkeys')
        const row = await addCredential(tx, { ...made, user_id: user.id })
        await notify(app, tx, user, 'passkey_added')
        await audit.append(tx, { ...authorOf(request), action: 'passkey_registrata', object: `passkey:${row.id}` })
        return row
      })
      app.mail.deliver()
      return presentPasskey(passkey)
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
    handler: async ({ principal }) => {
      requireParty(party)
      return (await listPasskeys(db, principal!.userId!)).map(presentPasskey)
    }
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
      requireParty(party)
      const id = parseUuid(params.passkey_id, 'passkey_id')
      const { userId, sessionId } = principal!
      return presentPasskey(await db.transaction(async (tx) => {
        await getSessionOwner(tx, { userId: userId!, sessionId: sessionId! })
        return await renamePasskey(tx, userId!, id, body.friendly_name)
      }))
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
      requireParty(party)
      const id = parseUuid(request.params.passkey_id, 'passkey_id')
      const { userId, sessionId } = request.principal!
      await db.transaction(async (tx) => {
        const user = await getSessionOwner(tx, { userId: userId!, sessionId: sessionId! })
        await removePasskey(tx, user.id, id)
        // A person who has found the device may use one of them.
        const revoked = await endPasskeySessions(tx, user.id, sessionId)
        await notify(app, tx, user, 'passkey_removed')
        await audit.append(tx, {
          ...authorOf(request), action: 'passkey_eliminata', object: `passkey:${id}`, details: { revoked }
        })
      })
      app.mail.deliver()
      await waitForListeners()
      return await reply.code(204).send(null)
    }
  })

  /** Who may make a passkey now. @throws AuthError session_not_found, insufficient_aal, reauthentication_needed */
  async function freshOwner (tx: Transaction, userId: string, sessionId: string): Promise<User> {
    const signedIn = await getSignedIn(tx, { userId, sessionId })
    requireFresh(signedIn, config)
    return signedIn.user
  }
}
export default passkeyRoutes

/** @throws AuthError passkey_disabled */
export function requireParty (party: RelyingParty | undefined): RelyingParty {
  if (party === undefined) throw new AuthError('passkey_disabled')
  return party
}
