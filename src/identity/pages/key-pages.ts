import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { SCOPES, type MintedKey, type Scope } from '#schemas/api-key.ts'
import { html } from '#src/lib/html.ts'
import { refusalOf, type Refused } from './ask.ts'
import { Fields } from './forms.ts'
import type { PageOptions } from './options.ts'
import { alarm, checks, field, form, link } from './parts.ts'
import { explain, settleRefusal } from './refusals.ts'
import { described, OPEN } from './route.ts'
import { show } from './show.ts'
import { SCOPE_TEXTS } from './texts.ts'
import { ACCOUNT, NEW_KEY, type Visitor } from './visitors.ts'

const DEFAULT_DAYS = '90'

interface Attempt { name?: string, days?: string, scopes?: readonly Scope[], refused?: Refused | 'keyScopeMissing' }

/** A person's API keys: made, shown this once, and revoked. */
const keyPages: FastifyPluginAsyncTypebox<PageOptions> = async (app, { ask, visitors }) => {
  app.route({
    method: 'GET',
    url: NEW_KEY,
    config: OPEN,
    schema: described('getNuovaChiave', 'La pagina per una nuova chiave API', {}),
    handler: async (request, reply) => showForm(request, reply, await visitors.require(request))
  })

  app.route({
    method: 'POST',
    url: NEW_KEY,
    config: OPEN,
    schema: described('postNuovaChiave', 'Crea una chiave API', { body: Fields(['name', 'days', ...SCOPES]) }),
    handler: async (request, reply) => {
      const { body } = request
      const visitor = await visitors.require(request)
      const { name = '', days = '' } = body
      const scopes = SCOPES.filter((scope) => body[scope] !== undefined)
      // A key without any would have them all.
      if (scopes.length === 0) {
        return showForm(request, reply, visitor, { name, days, scopes, refused: 'keyScopeMissing' })
      }
      try {
        const query = new URLSearchParams({ name: name.trim(), days: days.trim(), scopes: scopes.join(',') })
        const url = `/api/cli/auth/key?${query.toString()}`
        const { apiKey } = await ask<MintedKey>(request, { method: 'GET', url, token: visitor.token })
        return showKey(request, reply, apiKey)
      } catch (err) {
        const refused = refusalOf(err)
        // Others, as a proof that is wanted, lead elsewhere.
        if (refused.code !== 'RICHIESTA_NON_VALIDA' && refused.code !== 'TROPPE_CHIAVI') throw err
        return showForm(request, reply, visitor, { name, days, scopes, refused })
      }
    }
  })

  app.route({
    method: 'POST',
    url: `${ACCOUNT}/chiavi/revoca`,
    config: OPEN,
    schema: described('postRevocaChiave', 'Revoca una chiave API', { body: Fields(['id']) }),
    handler: async (request, reply) => {
      const { token } = await visitors.require(request)
      const url = `/api/v1/keys/${encodeURIComponent(request.body.id ?? '')}`
      await ask(request, { method: 'DELETE', url, token })
      return await reply.redirect(`${ACCOUNT}?esito=fatto`, 303)
    }
  })
}
export default keyPages

function showForm (
  request: FastifyRequest,
  reply: FastifyReply,
  { caller }: Visitor,
  { name, days = DEFAULT_DAYS, scopes = ['lettura'], refused }: Attempt = {}
): FastifyReply {
  if (refused === 'keyScopeMissing') reply.code(400)
  else if (refused) settleRefusal(refused, request, reply)
  return show(request, reply, (texts) => {
    const isOfScopes = refused === 'keyScopeMissing'
    const options = SCOPES.filter((scope) => caller.admin || scope !== 'amministrazione').map((scope) => (
      { name: scope, label: texts[SCOPE_TEXTS[scope]], isChosen: scopes.includes(scope) }
    ))
    return {
      title: texts.newKey,
      isFaulty: refused !== undefined,
      content: html`${alarm(isOfScopes || refused === undefined ? undefined : explain(refused, texts, 'keyFaulty'))}${
        form({
          action: NEW_KEY,
          button: texts.makeKey,
          content: [
            field({ name: 'name', label: texts.nameLabel, autocomplete: 'off', hint: texts.keyNameHint, value: name }),
            field({
              name: 'days',
              label: texts.keyDays,
              autocomplete: 'off',
              hint: texts.keyDaysHint,
              value: days,
              isNumeric: true
            }),
            checks(texts.keyScopes, options, isOfScopes ? texts.keyScopeMissing : undefined)
          ]
        })}${link(ACCOUNT, texts.back)}`
    }
  })
}

function showKey (request: FastifyRequest, reply: FastifyReply, key: string): FastifyReply {
  return show(request, reply, (texts) => ({
    title: texts.keyMade,
    content: html`<p>${texts.keyMadeText}</p>
<p><code>${key}</code></p>
${link(ACCOUNT, texts.keyKept)}`
  }))
}
