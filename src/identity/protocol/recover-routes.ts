import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Nothing } from '#schemas/auth/answers.ts'
import { OtpBody, RecoverBody, RedirectQuery, ResendBody } from '#schemas/auth/requests.ts'
import type { Transaction } from '#src/database/connect.ts'
import { AuthError } from '../errors.ts'
import { storableMetadata } from '../people/metadata.ts'
import { findUser, getUser, isBanned, type User } from '../people/find-users.ts'
import { resendEmailChange } from './email-change.ts'
import { requireAddress, type LinkTarget, type SentKind } from './mail-flows.ts'
import type { ProtocolOptions } from './options.ts'
import { signUp } from './signup-routes.ts'

const tags = ['Provider di identità']

/** Where a sign-in by mail is asked for. Older clients know the second address, of which nothing is said any more. */
const SIGN_INS = [
  { url: '/otp', operationId: 'authOtp', hide: false },
  { url: '/magiclink', operationId: 'authMagicLink', hide: true }
]

/** Requests for mails. The answers are the same for addresses without an account. */
const recoverRoutes: FastifyPluginAsyncTypebox<ProtocolOptions> = async (app, { config, flows }) => {
  app.route({
    method: 'POST',
    url: '/recover',
    config: { access: 'public' },
    schema: {
      operationId: 'authRecover',
      tags,
      summary: 'Chiede di reimpostare la password',
      querystring: RedirectQuery,
      body: RecoverBody,
      response: { 200: Nothing }
    },
    handler: async (request, reply) => {
      const {
        body,
        query: { redirect_to }
      } = request
      flows.requireMail()
      const email = requireAddress(body)
      const target = flows.linkTarget(redirect_to, body)
      await flows.admitMail(request, reply, 'recovery', email)
      await flows.runUniformly({ request, reply, kind: 'recovery', to: email, target }, async (tx) => {
        const user = await findUnbannedUser(tx, email)
        if (user) await sendTo(tx, request, user, 'recovery', target)
      })
      return {}
    }
  })

  for (const { url, operationId, hide } of SIGN_INS) {
    app.route({
      method: 'POST',
      url,
      config: { access: 'public' },
      schema: {
        operationId,
        hide,
        tags,
        summary: 'Chiede un collegamento o un codice per accedere',
        querystring: RedirectQuery,
        body: OtpBody,
        response: { 200: Nothing }
      },
      handler: async (request, reply) => {
        const {
          body,
          query: { redirect_to }
        } = request
        if (body.phone && !body.email) throw new AuthError('phone_provider_disabled')
        flows.requireMail()
        const email = requireAddress(body)
        const user_metadata = storableMetadata(body.data ?? {})
        const target = flows.linkTarget(redirect_to, body)
        const mayCreate = config.SIGNUP_ENABLED && body.create_user !== false
        await flows.admitMail(request, reply, 'magiclink', email)
        await flows.runUniformly({ request, reply, kind: 'magiclink', to: email, target }, async (tx) => {
          const user = await findUser(tx, { email })
          if (user && !isBanned(user.banned_until)) await sendTo(tx, request, user, 'magiclink', target)
          else if (!user && mayCreate) await signUp(tx, request, flows, { email, user_metadata }, 'magiclink', target)
        })
        return {}
      }
    })
  }

  app.route({
    method: 'POST',
    url: '/resend',
    config: { access: 'public' },
    schema: {
      operationId: 'authResend',
      tags,
      summary: 'Chiede un’altra volta una conferma',
      querystring: RedirectQuery,
      body: ResendBody,
      response: { 200: Nothing }
    },
    handler: async (request, reply) => {
      const {
        body,
        query: { redirect_to }
      } = request
      const { type } = body
      if (type === 'sms' || type === 'phone_change') throw phoneRefusal(body)
      if (type !== 'signup' && type !== 'email_change') {
        throw new AuthError('validation_failed', {
          message: 'Missing one of these types: signup, email_change, sms, phone_change'
        })
      }
      flows.requireMail()
      const email = requireAddress(body)
      const target = flows.linkTarget(redirect_to, body)
      // Counted together with the first mail of this kind.
      await flows.admitMail(request, reply, type, email)
      const kind = type === 'signup' ? type : 'email_change_current'
      await flows.runUniformly({ request, reply, kind, to: email, target }, async (tx) => {
        const user = await findUnbannedUser(tx, email)
        if (type === 'signup' && user?.email_confirmed_at === null) await sendTo(tx, request, user, 'signup', target)
        if (type === 'email_change' && user && user.new_email !== null) {
          await resendEmailChange(tx, flows, user, target)
          await flows.audit(tx, request, 'email', user, { kind: type })
        }
      })
      return {}
    }
  })

  app.route({
    method: 'GET',
    url: '/reauthenticate',
    // A HEAD sends no mail.
    exposeHeadRoute: false,
    config: { access: 'user' },
    schema: {
      operationId: 'authReauthenticate',
      tags,
      summary: 'Chiede un codice per cambiare la password',
      response: { 200: Nothing }
    },
    handler: async (request, reply) => {
      flows.requireMail()
      const user = await getUser(app.db, request.principal!.userId!)
      const kind = 'reauthentication'
      await flows.admitMail(request, reply, kind, user.email)
      const target = flows.linkTarget(undefined, {})
      await flows.runUniformly({ request, reply, kind, to: user.email, target }, (tx) =>
        sendTo(tx, request, user, kind, target)
      )
      return {}
    }
  })

  async function sendTo (
    tx: Transaction,
    request: FastifyRequest,
    user: User,
    kind: SentKind,
    target: LinkTarget
  ): Promise<void> {
    await flows.send(tx, user, kind, target)
    await flows.audit(tx, request, 'email', user, { kind })
  }
}
export default recoverRoutes

async function findUnbannedUser (tx: Transaction, email: string): Promise<User | undefined> {
  const user = await findUser(tx, { email })
  return user && !isBanned(user.banned_until) ? user : undefined
}

/** Why a telephone gets no confirmation. */
function phoneRefusal ({ phone }: { phone?: string }): AuthError {
  return phone
    ? new AuthError('phone_provider_disabled', { message: 'Phone logins are disabled' })
    : new AuthError('validation_failed', { message: 'Type provided requires a phone number' })
}
