import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type, type Static } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Passkey, PasskeyBody, PasskeyOptions, PasskeyParams, PasskeyUpdate } from '#schemas/auth/passkey.ts'
import { EmptyBody } from '#schemas/auth/requests.ts'
import { Ref } from '#schemas/common.ts'
import type { Transaction } from '#src/database/connect.ts'
import { route } from '../../provider-route.ts'
import { AuthError } from '../../errors.ts'
import { isBanned, type User } from '../../people/find-users.ts'
import { record, recordOf } from '../../audit-record.ts'
import { notify } from '../../sign-in/account-mails.ts'
import {
  beginSession, clientOf, endPasskeySessions, getSessionOwner, getSignedIn, type SignedIn
} from '../../sign-in/person-sessions.ts'
import { parseUuid } from '../../uuid.ts'
import { requireFresh } from '../proof.ts'
import { creationOptions, requestOptions, readCreation, readProof } from './ceremonies.ts'
import {
  addCredential, findPasskey, keepChallenge, listPasskeys, noteUse, presentPasskey, removePasskey, renamePasskey,
  takeChallenge, type CredentialRow
} from './credentials.ts'
import { relyingParty, type RelyingParty } from './relying-party.ts'
import { AuthSession } from '#schemas/auth/session.ts'
import { lockUser } from '../../people/people-locks.ts'
import { countProof } from '../../protocol/request-limits.ts'
import { sessionResponse } from '../../sign-in/session-response.ts'
import { PASSKEY } from '../../session-status.ts'

/** The same limit as Supabase Auth. */
const MAX_PASSKEYS = 10

/** Routes of a user's own passkeys. A user with a second factor must prove it here, like on other routes. */
const passkeyRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.post('/passkeys/registration/options', route(
    { access: 'user' }, 'authPasskeyRegistrationOptions', 'Comincia la registrazione di una passkey', {
      body: EmptyBody, response: { 200: PasskeyOptions }
    }
  ), async (request) => await beginRegistration(request))

  app.post('/passkeys/registration/verify', route(
    { access: 'user' }, 'authPasskeyRegistrationVerify', 'Registra una passkey', {
      body: PasskeyBody, response: { 200: Ref(Passkey) }
    }
  ), async (request) => presentPasskey(await register(request, request.body)))

  app.get('/passkeys', route({ access: 'user' }, 'authListPasskeys', 'Le proprie passkey', {
    response: { 200: Type.Array(Ref(Passkey), { examples: [Passkey.examples] }) }
  }), async ({ principal }) => {
    requireParty(app)
    return (await listPasskeys(app.db, principal!.userId!)).map(presentPasskey)
  })

  app.patch('/passkeys/:passkey_id', route(
    { access: 'user' }, 'authRenamePasskey', 'Dà un nome a una propria passkey', {
      params: PasskeyParams, body: PasskeyUpdate, response: { 200: Ref(Passkey) }
    }
  ), async ({ principal, params, body }) => {
    requireParty(app)
    const id = parseUuid(params.passkey_id, 'passkey_id')
    return presentPasskey(await app.db.transaction(async (tx) => {
      const user = await getSessionOwner(tx, principal!)
      return await renamePasskey(tx, user.id, id, body.friendly_name)
    }))
  })

  app.delete('/passkeys/:passkey_id', route({ access: 'user' }, 'authDeletePasskey', 'Elimina una propria passkey', {
    params: PasskeyParams, response: { 204: Type.Null() }
  }), async (request, reply) => {
    requireParty(app)
    await remove(request, parseUuid(request.params.passkey_id, 'passkey_id'))
    return await reply.code(204).send(null)
  })
}
export default passkeyRoutes

async function beginRegistration ({ server: app, principal }: FastifyRequest): Promise<Static<typeof PasskeyOptions>> {
  const { db } = app
  const party = requireParty(app)
  const user = await db.transaction(async (tx) => await freshOwner(tx, app, principal!))
  const present = await listPasskeys(db, user.id)
  if (present.length >= MAX_PASSKEYS) throw new AuthError('too_many_passkeys')
  const { options, challenge } = await creationOptions(party, user, present, 'passkey')
  const { id, expires_at } = await keepChallenge(db, 'registration', challenge, user.id)
  return { challenge_id: id, options, expires_at }
}

async function register (
  request: FastifyRequest, { challenge_id, credential }: Static<typeof PasskeyBody>
): Promise<CredentialRow> {
  const { server: app, principal } = request
  const party = requireParty(app)
  const challenge = await takeChallenge(app.db, 'registration', challenge_id, principal!.userId!)
  const made = await readCreation(party, credential, challenge, 'passkey')
  if (!made) throw new AuthError('webauthn_verification_failed')
  const passkey = await app.db.transaction(async (tx) => {
    const user = await freshOwner(tx, app, principal!)
    if ((await listPasskeys(tx, user.id)).length >= MAX_PASSKEYS) throw new AuthError('too_many_passkeys')
    const row = await addCredential(tx, { ...made, user_id: user.id })
    await notify(app, tx, user, 'passkey_added')
    await record(tx, request, 'passkey_registrata', `passkey:${row.id}`)
    return row
  })
  app.mail.deliver()
  return passkey
}

async function remove (request: FastifyRequest, id: string): Promise<void> {
  const { server: app, principal } = request
  await app.db.transaction(async (tx) => {
    const user = await getSessionOwner(tx, principal!)
    await removePasskey(tx, user.id, id)
    // A person who found the device may be using one of these sessions.
    const revoked = await endPasskeySessions(tx, user.id, principal!.sessionId)
    await notify(app, tx, user, 'passkey_removed')
    await record(tx, request, 'passkey_eliminata', `passkey:${id}`, { revoked })
  })
  app.mail.deliver()
  await app.identity.waitForListeners()
}

/** The caller. @throws AuthError when the sign-in is too old for a new passkey, or lacks the second factor */
async function freshOwner (
  tx: Transaction, { identity: { config } }: FastifyInstance, principal: Parameters<typeof getSignedIn>[1]
): Promise<User> {
  const signedIn = await getSignedIn(tx, principal)
  requireFresh(signedIn, config)
  return signedIn.user
}

function requireParty ({ identity: { config } }: FastifyInstance): RelyingParty {
  const party = relyingParty(config)
  if (party === undefined) throw new AuthError('passkey_disabled')
  return party
}

/** Sign-in with a passkey. The session is at `aal1`, as in Supabase Auth, and a second factor may still be required. */
export const passkeySignInRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.post('/passkeys/authentication/options', route(
    { access: 'public' }, 'authPasskeyOptions', 'Comincia l’accesso con una passkey', {
      body: EmptyBody, response: { 200: PasskeyOptions }
    }
  ), async (request, reply) => {
    const party = requireParty(app)
    await countProof(request, reply)
    const { options, challenge } = await requestOptions(party, [], 'passkey')
    const { id, expires_at } = await keepChallenge(app.db, 'authentication', challenge, null)
    return { challenge_id: id, options, expires_at }
  })

  app.post('/passkeys/authentication/verify', route(
    { access: 'public' }, 'authPasskeyVerify', 'Accede con una passkey', {
      body: PasskeyBody, response: { 200: Ref(AuthSession) }
    }
  ), async (request, reply) => {
    const { user, session } = await proveAndSignIn(request, reply, request.body)
    return await sessionResponse(app.identity.signer, user, session)
  })
}

async function proveAndSignIn (
  request: FastifyRequest, reply: FastifyReply, { challenge_id, credential }: Static<typeof PasskeyBody>
): Promise<SignedIn> {
  const { server: app } = request
  const party = requireParty(app)
  await countProof(request, reply)
  const challenge = await takeChallenge(app.db, 'authentication', challenge_id, null)
  const known = await findPasskey(app.db, String(credential.id))
  const isOwn = known !== undefined && namesOwner(credential, known)
  const counter = isOwn ? await readProof(party, credential, challenge, known, 'passkey') : undefined
  if (known !== undefined && counter !== undefined) return await signIn(request, known, counter)
  await app.audit.append(app.db, {
    actor: 'anonimo',
    ip: request.ip,
    action: 'accesso_fallito',
    ...(known ? { object: `passkey:${known.id}` } : {}),
    details: { reason: 'webauthn_verification_failed' }
  })
  throw new AuthError('webauthn_verification_failed')
}

/**
 * Whether the authenticator names the owner of the passkey (WebAuthn §7.2, step 6). It got the owner's id at
 * registration. Some security keys do not return the id.
 */
function namesOwner ({ response }: Record<string, unknown>, { user_id }: CredentialRow): boolean {
  const { userHandle } = (response ?? {}) as { userHandle?: unknown }
  if (userHandle === undefined || userHandle === null) return true
  return typeof userHandle === 'string' && Buffer.from(userHandle, 'base64url').toString() === user_id
}

async function signIn (request: FastifyRequest, { id, user_id }: CredentialRow, counter: number): Promise<SignedIn> {
  return await request.server.db.transaction(async (tx) => {
    const person = await lockUser(tx, user_id)
    if (!person || !await noteUse(tx, id, counter)) throw new AuthError('webauthn_verification_failed')
    if (isBanned(person.banned_until)) throw new AuthError('user_banned')
    if (person.email_confirmed_at === null) throw new AuthError('email_not_confirmed', { status: 403 })
    const signedIn = await beginSession(tx, person, PASSKEY, clientOf(request))
    const details = { method: PASSKEY, passkey: id }
    await recordOf(tx, request, user_id, 'accesso', `session:${signedIn.session.id}`, details)
    return signedIn
  })
}
