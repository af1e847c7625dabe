import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FieldError } from '#schemas/common.ts'
import { Email, EmailResponse, EmailList, EmailQuery, EmailRequest } from '#schemas/email.ts'
import { accountFingerprint } from '#src/identity/index.ts'
import { CampiNonValidi, PostaNonConfigurata } from '#src/lib/errors.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { plainAddress } from '#src/services/mail/mail-address.ts'
import { isSubject, NO_ADDRESS, NO_SUBJECT } from '#src/services/mail/queue.ts'
import { presentEmail, presentSending, type Posted } from './email-response.ts'
import { mailContent } from './email-content.ts'

const tags = ['Sistema']

/** Time limit of the response, in milliseconds. Then the server sends the remaining mails in the background. */
const RESPOND_WITHIN_MS = 10_000
/** The largest value of PostgreSQL's `integer`. */
const ID_MAX = 2_147_483_647

const sendRoute = {
  config: { access: 'admin', idempotent: true },
  schema: {
    operationId: 'sendEmail',
    errorCodes: ['POSTA_NON_CONFIGURATA'],
    tags,
    summary: 'Invia un’e-mail a ogni destinatario e dice che cosa ha risposto il server di posta',
    body: EmailRequest,
    response: { 200: EmailResponse }
  }
} as const

const emailsRoute = {
  config: { access: 'admin' },
  schema: {
    operationId: 'getEmail',
    tags,
    summary: 'Lo stato delle e-mail inviate, e la risposta del server di posta',
    querystring: EmailQuery,
    response: { 200: EmailList }
  }
} as const

/** Routes of the mails that administrators write. */
const emails: FastifyPluginAsyncTypebox<{ keys: Keys }> = async (app, { keys }) => {
  const { db, mail } = app
  app.addSchema(Email)

  app.post('/api/send-email', sendRoute, async (request) => {
    const startedAt = performance.now()
    if (!mail.configured) throw new PostaNonConfigurata()
    const { recipients, subject, content } = await check(request.body)
    const posted = await db.transaction(async (tx) => {
      const rows: Posted[] = []
      for (const to of recipients) {
        rows.push({ recipient: to, ...await mail.enqueue(tx, { to, subject, ...content }) })
      }
      await request.noteDone(tx)
      await app.audit.append(tx, {
        ...authorOf(request),
        action: 'email',
        object: `mail:${rows[0]!.messageId}`,
        details: { recipients: rows.length, fingerprints: recipients.map((to) => accountFingerprint(keys, to)) }
      })
      return rows
    })
    mail.deliver()
    const left = Math.max(RESPOND_WITHIN_MS - (performance.now() - startedAt), 0)
    return presentSending(posted, await mail.awaitDelivery(posted.map(({ id }) => id), left))
  })

  app.get('/api/v1/email', emailsRoute, async ({ query }) => {
    const ids = query.ids.split(',').map(Number).filter((id) => id <= ID_MAX)
    return { data: (await mail.deliveryStatuses(ids)).map(presentEmail), status: 200 }
  })
}
export default emails

/**
 * The content to send, and its recipients without duplicates.
 * @throws CampiNonValidi with all errors
 */
async function check ({ recipients, subject, body }: EmailRequest) {
  const faults: FieldError[] = []
  const addresses = new Set<string>()
  for (const [at, text] of recipients.entries()) {
    const address = plainAddress(text)
    if (address === undefined) faults.push({ campo: `recipients[${at}]`, messaggio: NO_ADDRESS })
    else addresses.add(address)
  }
  if (!isSubject(subject)) faults.push({ campo: 'subject', messaggio: NO_SUBJECT })
  const content = await mailContent(body)
  if ('problem' in content) faults.push({ campo: 'body', messaggio: content.problem })
  if ('problem' in content || faults.length > 0) throw new CampiNonValidi(...faults)
  return { recipients: [...addresses], subject, content }
}
