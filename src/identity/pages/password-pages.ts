import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { html } from '#src/lib/html.ts'
import { refusalOf, type Refused } from './ask.ts'
import { Fields } from './forms.ts'
import type { PageOptions } from './options.ts'
import { alarm, field, form, link, NOTHING } from './parts.ts'
import { explain, settleRefusal } from './refusals.ts'
import { described, OPEN } from './route.ts'
import { show } from './show.ts'
import { languageOf } from './texts.ts'
import { ACCOUNT, PASSWORD } from './visitors.ts'

/** Refusals that concern the present password. */
const OF_CURRENT = ['current_password_invalid', 'reauthentication_needed']
/** Those that concern the new one. */
const OF_NEW = ['weak_password', 'same_password']

/**
 * Choosing a password. Whether the present one is wanted is for the route to say: when it says so, the page asks for
 * it.
 */
const passwordPages: FastifyPluginAsyncTypebox<PageOptions> = async (app, { ask, visitors }) => {
  app.route({
    method: 'GET',
    url: PASSWORD,
    config: OPEN,
    schema: described('getPassword', 'La pagina per scegliere una password', {}),
    handler: async (request, reply) => {
      const { user: { email } } = await visitors.require(request, [], 'password')
      return showPassword(request, reply, email)
    }
  })

  app.route({
    method: 'POST',
    url: PASSWORD,
    config: OPEN,
    schema: described('postPassword', 'Salva una password', { body: Fields(['email', 'password', 'current']) }),
    handler: async (request, reply) => {
      const { password = '', current } = request.body
      const { token, user: { email, user_metadata } } = await visitors.require(request, [], 'password')
      try {
        // Mails speak the language from now on in which the person has read this page.
        const data = user_metadata.lingua === undefined ? { lingua: languageOf(request) } : {}
        const payload = { password, data, ...(current === undefined ? {} : { current_password: current }) }
        await ask(request, { method: 'PUT', url: '/auth/v1/user', token, payload })
        return await reply.redirect(`${ACCOUNT}?esito=password`, 303)
      } catch (err) {
        return showPassword(request, reply, email, refusalOf(err), current !== undefined)
      }
    }
  })
}
export default passwordPages

function showPassword (
  request: FastifyRequest,
  reply: FastifyReply,
  email: string,
  refused?: Refused,
  hasCurrent = false
): FastifyReply {
  if (refused) settleRefusal(refused, request, reply)
  return show(request, reply, (texts) => {
    const error = refused && explain(refused, texts)
    const isOfCurrent = refused !== undefined && OF_CURRENT.includes(refused.code)
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
          // For programs that keep passwords: whose it is.
          html`<input name="email" type="email" value="${email}" autocomplete="username" readonly hidden>\n`,
          isOfCurrent || hasCurrent ? current : NOTHING,
          chosen
        ]
      })}${link(ACCOUNT, texts.back)}`
    }
  })
}
