import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Nothing } from '#schemas/auth/answers.ts'
import { OtpBody, RecoverBody, RedirectQuery, ResendBody } from '#schemas/auth/requests.ts'
import type { Transaction } from '#src/plugins/database/connect.ts'
import { AuthError } from '../errors.ts'
import { storableMetadata } from '../people/metadata.ts'
import { findUser, getUser, isBanned, type User } from '../people/users.ts'
import { resendEmailChange } from './email-change.ts'
import { addressOf, type SentKind, type Way } from './mail-flows.ts'
import type { ProviderOptions } from './routes.ts'
import { signUp } from './signup-routes.ts'

const tags = ['Provider di identità']

/** What is asked for by mail. The answers are the same for addresses that nobody has. */
const recoverRoutes: FastifyPluginAsyncTypebox<ProviderOptions> = async (app, { config, flows }) => {
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
      flows.required()
      const email = addressOf(body)
      const way = flows.way(redirect_to, body)
      await flows.alike(request, reply, 'recovery', email, async (tx) => {
        const user = await reachable(tx, email)
        if (user) await sendTo(tx, request, user, 'recovery', way)
      })
      return {}
    }
  })

  app.route({
    method: 'POST',
    url: '/otp',
    config: { access: 'public' },
    schema: {
      operationId: 'authOtp',
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
      flows.required()
      const email = addressOf(body)
      const user_metadata = storableMetadata(body.data ?? {})
      const way = flows.way(redirect_to, body)
      const mayCreate = config.SIGNUP_ENABLED && body.create_user !== false
      await flows.alike(request, reply, 'magiclink', email, async (tx) => {
        const user = await findUser(tx, { email })
        if (user && !isBanned(user.banned_until)) await sendTo(tx, request, user, 'magiclink', way)
        else if (!user && mayCreate) await signUp(tx, request, flows, { email, user_metadata }, 'magiclink', way)
      })
      return {}
    }
  })

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
      flows.required()
      const { type } = body
      if (type !== 'signup' && type !== 'email_change') {
        throw new AuthError('validation_failed', { message: 'Missing one of these types: signup, email_change' })
      }
      const email = addressOf(body)
      const way = flows.way(redirect_to, body)
      // The count is the one of the first mail.
      await flows.alike(request, reply, type, email, async (tx) => {
        const user = await reachable(tx, email)
        if (type === 'signup' && user?.email_confirmed_at === null) await sendTo(tx, request, user, 'signup', way)
        if (type === 'email_change' && user && user.new_email !== null) {
          await resendEmailChange(tx, flows, user, way)
          await flows.note(tx, request, 'email', user, { kind: type })
        }
      })
      return {}
    }
  })

  app.route({
    method: 'GET',
    url: '/reauthenticate',
    // Whoever only looks is not written to.
    exposeHeadRoute: false,
    config: { access: 'user' },
    schema: {
      operationId: 'authReauthenticate',
      tags,
      summary: 'Chiede un codice per cambiare la password',
      response: { 200: Nothing }
    },
    handler: async (request, reply) => {
      flows.required()
      const user = await getUser(app.db, request.principal!.userId!)
      await flows.alike(request, reply, 'reauthentication', user.email, (tx) =>
        sendTo(tx, request, user, 'reauthentication', flows.way(undefined, {}))
      )
      return {}
    }
  })

  async function sendTo (tx: Transaction, request: FastifyRequest, user: User, kind: SentKind, way: Way): Promise<void> {
    await flows.send(tx, user, kind, way)
    await flows.note(tx, request, 'email', user, { kind })
  }
}
export default recoverRoutes

async function reachable (tx: Transaction, email: string): Promise<User | undefined> {
  const user = await findUser(tx, { email })
  return user && !isBanned(user.banned_until) ? user : undefined
}
