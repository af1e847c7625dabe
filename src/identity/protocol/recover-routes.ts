import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Nothing } from '#schemas/auth/responses.ts'
import { OtpBody, RecoverBody, RedirectQuery, ResendBody } from '#schemas/auth/requests.ts'
import type { Transaction } from '#src/database/connect.ts'
import { route } from '../provider-route.ts'
import { AuthError, validationFailed } from '../errors.ts'
import { storableMetadata } from '../people/metadata.ts'
import { findUser, getUser, isBanned, type User } from '../people/find-users.ts'
import { record } from '../audit-record.ts'
import { linkTarget, requireAddress, requireMail, resendEmailChange, runUniformly, sendOnRecord } from './mail-flows.ts'
import { admitMail } from './request-limits.ts'
import { signUp } from './signup-routes.ts'

type RedirectTo = string | undefined

/** Routes that request mails. The response is the same for addresses without an account. */
const recoverRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.post('/recover', route({ access: 'public' }, 'authRecover', 'Chiede di reimpostare la password', {
    querystring: RedirectQuery, body: RecoverBody, response: { 200: Nothing }
  }), async (request, reply) => {
    const { body, query: { redirect_to } } = request
    requireMail(app)
    const email = requireAddress(body)
    const target = linkTarget(app.identity.config, redirect_to, body)
    await admitMail(request, reply, 'recovery', email)
    await runUniformly({ request, reply, kind: 'recovery', to: email }, async (tx) => {
      const user = await findUnbannedUser(tx, email)
      if (user) await sendOnRecord(tx, request, user, 'recovery', target)
    })
    return {}
  })

  app.post('/otp', route({ access: 'public' }, 'authOtp', 'Chiede un collegamento o un codice per accedere', {
    querystring: RedirectQuery, body: OtpBody, response: { 200: Nothing }
  }), async (request, reply) => await mailSignIn(request, reply, request.body, request.query.redirect_to))

  app.post('/resend', route({ access: 'public' }, 'authResend', 'Chiede un’altra volta una conferma', {
    querystring: RedirectQuery, body: ResendBody, response: { 200: Nothing }
  }), async (request, reply) => await resend(request, reply, request.body, request.query.redirect_to))

  app.get('/reauthenticate', {
    // No HEAD, because it would send a mail.
    exposeHeadRoute: false,
    ...route({ access: 'user' }, 'authReauthenticate', 'Chiede un codice per cambiare la password', {
      response: { 200: Nothing }
    })
  }, async (request, reply) => {
    requireMail(app)
    const user = await getUser(app.db, request.principal!.userId!)
    const kind = 'reauthentication'
    await admitMail(request, reply, kind, user.email)
    const target = linkTarget(app.identity.config, undefined, {})
    await runUniformly({ request, reply, kind, to: user.email }, (tx) =>
      sendOnRecord(tx, request, user, kind, target)
    )
    return {}
  })
}
export default recoverRoutes

async function mailSignIn (
  request: FastifyRequest, reply: FastifyReply, body: Static<typeof OtpBody>, redirectTo: RedirectTo
) {
  const { server: app } = request
  const { config } = app.identity
  if (body.phone && !body.email) throw new AuthError('phone_provider_disabled')
  requireMail(app)
  const email = requireAddress(body)
  const user_metadata = storableMetadata(body.data ?? {})
  const target = linkTarget(config, redirectTo, body)
  const mayCreate = config.SIGNUP_ENABLED && body.create_user !== false
  await admitMail(request, reply, 'magiclink', email)
  await runUniformly({ request, reply, kind: 'magiclink', to: email }, async (tx) => {
    const user = await findUser(tx, { email })
    if (user && !isBanned(user.banned_until)) await sendOnRecord(tx, request, user, 'magiclink', target)
    else if (!user && mayCreate) await signUp(tx, request, { email, user_metadata }, 'magiclink', target)
  })
  return {}
}

async function resend (
  request: FastifyRequest, reply: FastifyReply, body: Static<typeof ResendBody>, redirectTo: RedirectTo
) {
  const { server: app } = request
  const { type } = body
  if (type === 'sms' || type === 'phone_change') throw phoneRefusal(body)
  if (type !== 'signup' && type !== 'email_change') {
    throw validationFailed('Missing one of these types: signup, email_change, sms, phone_change')
  }
  requireMail(app)
  const email = requireAddress(body)
  const target = linkTarget(app.identity.config, redirectTo, body)
  // This mail is counted together with the first mail of the same kind.
  await admitMail(request, reply, type, email)
  const kind = type === 'signup' ? type : 'email_change_current'
  await runUniformly({ request, reply, kind, to: email }, async (tx) => {
    const user = await findUnbannedUser(tx, email)
    if (type === 'signup' && user?.email_confirmed_at === null) await sendOnRecord(tx, request, user, 'signup', target)
    if (type === 'email_change' && user && user.new_email !== null) {
      await resendEmailChange(app, tx, user, target)
      await record(tx, request, 'email', `user:${user.id}`, { kind: type })
    }
  })
  return {}
}

async function findUnbannedUser (tx: Transaction, email: string): Promise<User | undefined> {
  const user = await findUser(tx, { email })
  return user && !isBanned(user.banned_until) ? user : undefined
}

/** The refusal for a phone number. */
function phoneRefusal ({ phone }: { phone?: string }): AuthError {
  return phone
    ? new AuthError('phone_provider_disabled', { message: 'Phone logins are disabled' })
    : validationFailed('Type provided requires a phone number')
}
