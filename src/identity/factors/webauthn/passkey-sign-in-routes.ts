import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { PasskeyBody, PasskeyOptions } from '#schemas/auth/passkey.ts'
import { EmptyBody } from '#schemas/auth/requests.ts'
import { AuthSession } from '#schemas/auth/session.ts'
import { Ref } from '#schemas/common.ts'
import { AuthError } from '../../errors.ts'
import type { IdentityOptions } from '../../options.ts'
import { isBanned } from '../../people/find-users.ts'
import { lockUser } from '../../people/locks.ts'
import { mailLimits } from '../../protocol/mail-limits.ts'
import { sessionAnswer } from '../../sign-in/session-answer.ts'
import { beginSession, clientOf, type SignedIn } from '../../sign-in/sessions.ts'
import { PASSKEY } from '../methods.ts'
import { askToProve, readProof } from './ceremonies.ts'
import { findPasskey, keepChallenge, noteUse, takeChallenge, type CredentialRow } from './credentials.ts'
import { requireParty } from './passkey-routes.ts'
import { relyingParty } from './relying-party.ts'

const tags = ['Provider di identità']

/** Signing in with a passkey. The session is at `aal1`, as with Supabase Auth: a second factor comes after it. */
const passkeySignInRoutes: FastifyPluginAsyncTypebox<IdentityOptions> = async (app, { config }) => {
  const { db, audit, identity: { signer } } = app
  const party = relyingParty(config)
  const { countProof } = mailLimits(app, { config })

  app.route({
    method: 'POST',
    url: '/passkeys/authentication/options',
    config: { access: 'public' },
    schema: {
      operationId: 'authPasskeyOptions',
      tags,
      summary: 'Comincia l’accesso con una passkey',
      body: EmptyBody,
      response: { 200: PasskeyOptions }
    },
    handler: async (request, reply) => {
      const rp = requireParty(party)
      await countProof(request, reply)
      const { options, challenge } = await askToProve(rp, [], 'passkey')
      const { id, expires_at } = await keepChallenge(db, 'authentication', challenge, null)
      return { challenge_id: id, options, expires_at }
    }
  })

  app.route({
    method: 'POST',
    url: '/passkeys/authentication/verify',
    config: { access: 'public' },
    schema: {
      operationId: 'authPasskeyVerify',
      tags,
      summary: 'Accede con una passkey',
      body: PasskeyBody,
      response: { 200: Ref(AuthSession) }
    },
    handler: async (request, reply) => {
      const rp = requireParty(party)
      await countProof(request, reply)
      const { challenge_id, credential } = request.body
      const challenge = await takeChallenge(db, 'authentication', challenge_id, null)
      const known = await findPasskey(db, String(credential.id))
      const counter = known && await readProof(rp, credential, challenge, known, 'passkey')
      if (known === undefined || counter === undefined) {
        await audit.append(db, {
          actor: 'anonimo',
          ip: request.ip,
          action: 'accesso_fallito',
          ...(known ? { object: `passkey:${known.id}` } : {}),
          details: { reason: 'webauthn_verification_failed' }
        })
        throw new AuthError('webauthn_verification_failed')
      }
      const { user, session } = await signIn(request, known, counter)
      return await sessionAnswer(signer, user, session)
    }
  })

  async function signIn (request: FastifyRequest, { id, user_id }: CredentialRow, counter: number): Promise<SignedIn> {
    return await db.transaction(async (tx) => {
      const person = await lockUser(tx, user_id)
      if (!person || !await noteUse(tx, id, counter)) throw new AuthError('webauthn_verification_failed')
      if (isBanned(person.banned_until)) throw new AuthError('user_banned')
      if (person.email_confirmed_at === null) throw new AuthError('email_not_confirmed', { status: 403 })
      const signedIn = await beginSession(tx, person, PASSKEY, clientOf(request))
      await audit.append(tx, {
        actor: `user:${user_id}`,
        ip: request.ip,
        action: 'accesso',
        object: `session:${signedIn.session.id}`,
        details: { method: PASSKEY, passkey: id }
      })
      return signedIn
    })
  }
}
export default passkeySignInRoutes
