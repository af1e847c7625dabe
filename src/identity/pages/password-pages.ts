import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { html, type Html } from '#src/lib/html.ts'
import { callRoute, refusalOf, type Refused } from './call-route.ts'
import { alarm, field, form, link, NOTHING, notice, show } from './page-elements.ts'
import { explain, settleRefusal } from './show-error.ts'
import { formPage, page } from './page-route.ts'
import { languageOf, type Texts } from './page-texts.ts'
import { ACCOUNT, backToAccount, DESK, PASSWORD, requireVisitor, SIGN_OUT, type Visitor } from './page-visitor.ts'

/** The sign-in was too long ago, so the route requires the current password. */
const SIGN_IN_OLD = 'reauthentication_needed'
const OF_NEW = ['weak_password', 'same_password']

/** Sets a password. If the route requires the current one, the page asks for it. */
const passwordPages: FastifyPluginAsyncTypebox = async (app) => {
  app.get(PASSWORD, page('getPassword', 'La pagina per scegliere una password'), async (request, reply) => {
    const visitor = await requireVisitor(request, ['password'], 'password')
    return showPassword(request, reply, visitor)
  })

  app.post(PASSWORD, formPage(
    'postPassword', 'Salva una password', ['email', 'password', 'current']
  ), async (request, reply) => {
    const { password = '', current } = request.body
    const visitor = await requireVisitor(request, ['password'], 'password')
    const { token, user, caller } = visitor
    try {
      // If the person has no language setting, mails use the language of this page from now on.
      const data = user.user_metadata.lingua === undefined ? { lingua: languageOf(request) } : {}
      const payload = { password, data, ...(current === undefined ? {} : { current_password: current }) }
      await callRoute(request, { method: 'PUT', url: '/auth/v1/user', token, payload })
      // A person who has replaced the printed password continues at the desk.
      return caller.lacks === 'password' ? await reply.redirect(DESK, 303) : await backToAccount(reply, 'password')
    } catch (err) {
      return showPassword(request, reply, visitor, refusalOf(err), current !== undefined)
    }
  })
}
export default passwordPages

function showPassword (
  request: FastifyRequest,
  reply: FastifyReply,
  { user: { email, password_hash }, caller: { lacks } }: Visitor,
  refused?: Refused,
  hasCurrent = false
): FastifyReply {
  if (refused) settleRefusal(refused, request, reply)
  const isPrinted = lacks === 'password'
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
      content: html`${isPrinted ? notice(texts.replacePrinted) : NOTHING}${
        alarm(isOfCurrent || isOfNew ? undefined : error)}${form({
        action: PASSWORD,
        button: texts.savePassword,
        content: [
          // Shows password managers the account.
          html`<input name="email" type="email" value="${email}" autocomplete="username" readonly hidden>\n`,
          isOfCurrent || hasCurrent ? current : NOTHING,
          chosen
        ]
      })}${exitForm(isPrinted, texts)}`
    }
  })
}

/** Before the printed password is replaced, the only other action is to sign out. */
function exitForm (isPrinted: boolean, texts: Texts): Html {
  return isPrinted ? form({ action: SIGN_OUT, button: texts.signOut, isQuiet: true }) : link(ACCOUNT, texts.back)
}
