import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { html } from '#src/lib/html.ts'
import type { UserRow } from '../people/find-users.ts'
import { callRoute, refusalOf, type Refused } from './call-route.ts'
import { alarm, field, form, link, NOTHING, show } from './page-elements.ts'
import { explain, settleRefusal } from './show-error.ts'
import { formPage, page } from './page-route.ts'
import { languageOf } from './page-texts.ts'
import { ACCOUNT, backToAccount, PASSWORD, requireVisitor } from './page-visitor.ts'

/** The sign-in is too old. The current password makes up for it. */
const SIGN_IN_OLD = 'reauthentication_needed'
const OF_NEW = ['weak_password', 'same_password']

/** Sets a password. The route decides whether the current one is required, and then the page asks for it. */
const passwordPages: FastifyPluginAsyncTypebox = async (app) => {
  app.get(PASSWORD, page('getPassword', 'La pagina per scegliere una password'), async (request, reply) => {
    const { user } = await requireVisitor(request, [], 'password')
    return showPassword(request, reply, user)
  })

  app.post(PASSWORD, formPage(
    'postPassword', 'Salva una password', ['email', 'password', 'current']
  ), async (request, reply) => {
    const { password = '', current } = request.body
    const { token, user } = await requireVisitor(request, [], 'password')
    try {
      // Without a language setting, mails use the language of this page from now on.
      const data = user.user_metadata.lingua === undefined ? { lingua: languageOf(request) } : {}
      const payload = { password, data, ...(current === undefined ? {} : { current_password: current }) }
      await callRoute(request, { method: 'PUT', url: '/auth/v1/user', token, payload })
      return await backToAccount(reply, 'password')
    } catch (err) {
      return showPassword(request, reply, user, refusalOf(err), current !== undefined)
    }
  })
}
export default passwordPages

function showPassword (
  request: FastifyRequest,
  reply: FastifyReply,
  { email, password_hash }: Pick<UserRow, 'email' | 'password_hash'>,
  refused?: Refused,
  hasCurrent = false
): FastifyReply {
  if (refused) settleRefusal(refused, request, reply)
  return show(request, reply, (texts) => {
    const isCurrentWanted = refused?.code === SIGN_IN_OLD && password_hash !== null
    const error = isCurrentWanted ? texts.needCurrent : refused && explain(refused, texts)
    const isOfCurrent = isCurrentWanted || refused?.code === 'current_password_invalid'
    const isOfNew = refused !== undefined && OF_NEW.includes(refused.code)
    const current = field({
      name: 'current',
      label: texts.currentPassword,
      type: 'password',
      autocomplete: 'current-password',
      error: isOfCurrent ? error : undefined
    })
    const chosen = field({
      name: 'password',
      label: texts.newPassword,
      type: 'password',
      autocomplete: 'new-password',
      hint: texts.newPasswordHint,
      error: isOfNew ? error : undefined
    })
    return {
      title: texts.setPassword,
      isFaulty: refused !== undefined,
      content: html`${alarm(isOfCurrent || isOfNew ? undefined : error)}${form({
        action: PASSWORD,
        button: texts.savePassword,
        content: [
          // Tells password managers which account it is.
          html`<input name="email" type="email" value="${email}" autocomplete="username" readonly hidden>\n`,
          isOfCurrent || hasCurrent ? current : NOTHING,
          chosen
        ]
      })}${link(ACCOUNT, texts.back)}`
    }
  })
}
