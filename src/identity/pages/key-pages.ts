import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { SCOPES, type MintedKey, type Scope } from '#schemas/api-key.ts'
import { html } from '#src/lib/html.ts'
import { callRoute, refusalOf, type Refused } from './call-route.ts'
import { alarm, checkBoxes, field, form, link, show } from './page-elements.ts'
import { explain, settleRefusal } from './show-error.ts'
import { formPage, page } from './page-route.ts'
import { SCOPE_TEXTS } from './page-texts.ts'
import { ACCOUNT, NEW_KEY, requireVisitor, type Visitor } from './page-visitor.ts'

const DEFAULT_DAYS = '90'

interface Attempt { name?: string, days?: string, scopes?: readonly Scope[], refused?: Refused | 'keyScopeMissing' }

const keyPages: FastifyPluginAsyncTypebox = async (app) => {
  app.get(NEW_KEY, page(
    'getNuovaChiave', 'La pagina per una nuova chiave API'
  ), async (request, reply) => showForm(request, reply, await requireVisitor(request)))

  app.post(NEW_KEY, formPage(
    'postNuovaChiave', 'Crea una chiave API', ['name', 'days', ...SCOPES]
  ), async (request, reply) => {
    const { body } = request
    const scopes = SCOPES.filter((scope) => body[scope] !== undefined)
    return await makeKey(request, reply, { name: body.name ?? '', days: body.days ?? '', scopes })
  })
}
export default keyPages

async function makeKey (
  request: FastifyRequest, reply: FastifyReply, attempt: Required<Omit<Attempt, 'refused'>>
): Promise<FastifyReply> {
  const visitor = await requireVisitor(request)
  const { name, days, scopes } = attempt
  // A key without scopes would have all scopes.
  if (scopes.length === 0) return showForm(request, reply, visitor, { ...attempt, refused: 'keyScopeMissing' })
  try {
    const query = new URLSearchParams({ name: name.trim(), days: days.trim(), scopes: scopes.join(',') })
    const url = `/api/cli/auth/key?${query.toString()}`
    const { apiKey } = await callRoute<MintedKey>(request, { method: 'GET', url, token: visitor.token })
    return showKey(request, reply, apiKey)
  } catch (err) {
    const refused = refusalOf(err)
    // The error handler of the pages handles other refusals, e.g. a missing proof.
    if (refused.code !== 'RICHIESTA_NON_VALIDA' && refused.code !== 'TROPPE_CHIAVI') throw err
    return showForm(request, reply, visitor, { ...attempt, refused })
  }
}

function showForm (
  request: FastifyRequest,
  reply: FastifyReply,
  { caller }: Visitor,
  { name, days = DEFAULT_DAYS, scopes = ['lettura'], refused }: Attempt = {}
): FastifyReply {
  if (refused === 'keyScopeMissing') reply.code(400)
  else if (refused) settleRefusal(refused, request, reply)
  return show(request, reply, (texts) => {
    const lacksScopes = refused === 'keyScopeMissing'
    const options = SCOPES.filter((scope) => caller.admin || scope !== 'amministrazione').map((scope) => (
      { name: scope, label: texts[SCOPE_TEXTS[scope]], isChosen: scopes.includes(scope) }
    ))
    return {
      title: texts.newKey,
      isFaulty: refused !== undefined,
      content: html`${alarm(lacksScopes || refused === undefined ? undefined : explain(refused, texts, 'keyFaulty'))}${
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
            checkBoxes(texts.keyScopes, options, lacksScopes ? texts.keyScopeMissing : undefined)
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
