import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, Instant, NotEmpty, Nullable, OneOf, Ref, Text } from './common.ts'
import { MAIL_STATES } from './mail.ts'

/** Maximum recipients of one request. */
const RECIPIENTS_MAX = 100
/** Maximum characters of a body. */
const BODY_MAX = 200_000

/** `body` is HTML. Only elements suited to mails are sent. */
export const EmailRequest = Closed({
  recipients: Type.Array(Text(254, { examples: ['giulia.bianchi@example.org'] }), {
    minItems: 1,
    maxItems: RECIPIENTS_MAX
  }),
  // The handler rejects blanks, together with its other errors.
  subject: NotEmpty(Text(255, { minLength: 1, examples: ['Il vostro arrivo'] })),
  // Line ends and tabs are allowed, other control characters and lone surrogates are not.
  body: Type.String({
    minLength: 1,
    maxLength: BODY_MAX,
    pattern: '^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f\\ud800-\\udfff]*$',
    examples: ['<p>Vi aspettiamo dalle 15.</p>']
  })
}, {
  examples: [{
    recipients: ['giulia.bianchi@example.org'],
    subject: 'Il vostro arrivo',
    body: '<p>Vi aspettiamo dalle 15.</p>'
  }]
})
export type EmailRequest = Static<typeof EmailRequest>

const outcome = {
  id: Id,
  /** The Message-ID header of the mail. */
  messageId: Type.String({ examples: ['<0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f@locanda.example>'] }),
  stato: OneOf(MAIL_STATES, { examples: ['inviata'] }),
  /** The codes of the mail server's last reply, or null without one. */
  risposta: Nullable(Type.String({ examples: ['250 2.0.0'] })),
  spiegazione: Type.String({ examples: ['Accettata dal server di posta'] })
}

const EmailRecipient = Closed({ recipient: Type.String({ examples: ['giulia.bianchi@example.org'] }), ...outcome })
export type EmailRecipient = Static<typeof EmailRecipient>

/**
 * The result after at most ten seconds. A recipient that is neither in `accepted` nor in `rejected` is still queued.
 * `success`: none was permanently refused. `messageId` belongs to the first mail.
 */
export const EmailResponse = Closed({
  success: Type.Boolean(),
  message: Type.String(),
  messageId: outcome.messageId,
  accepted: Type.Array(Type.String()),
  rejected: Type.Array(Type.String()),
  recipients: Type.Array(EmailRecipient),
  status: Type.Integer()
}, {
  examples: [
    {
      success: true,
      message: '1 e-mail accettata dal server di posta',
      messageId: '<0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f@locanda.example>',
      accepted: ['giulia.bianchi@example.org'],
      rejected: [],
      recipients: [
        {
          recipient: 'giulia.bianchi@example.org',
          id: 1,
          messageId: '<0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f@locanda.example>',
          stato: 'inviata',
          risposta: '250 2.0.0',
          spiegazione: 'Accettata dal server di posta'
        }
      ],
      status: 200
    }
  ]
})
export type EmailResponse = Static<typeof EmailResponse>

/** `ids`: comma-separated, from the response that sent the mails. */
export const EmailQuery = Closed({
  ids: Type.String({
    pattern: `^[1-9]\\d{0,9}(,[1-9]\\d{0,9}){0,${RECIPIENTS_MAX - 1}}$`,
    maxLength: 11 * RECIPIENTS_MAX,
    description: `Fino a ${RECIPIENTS_MAX} id della risposta di POST /api/send-email, separati da virgole`,
    examples: ['12,13']
  })
})

/**
 * A mail's status, without its recipient, which is only stored until the delivery. `prossimo_tentativo` is null if none
 * is scheduled.
 */
export const Email = Closed({
  ...outcome,
  tentativi: Type.Integer({ minimum: 0, examples: [1] }),
  creata_il: Instant,
  inviata_il: Nullable(Instant),
  prossimo_tentativo: Nullable(Instant)
}, {
  $id: 'Email',
  examples: [{
    id: 12,
    messageId: '<0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f@locanda.example>',
    stato: 'inviata',
    risposta: '250 2.0.0',
    spiegazione: 'Accettata dal server di posta',
    tentativi: 1,
    creata_il: '2026-11-21T09:30:00.000Z',
    inviata_il: '2026-11-21T09:30:01.000Z',
    prossimo_tentativo: null
  }]
})
export type Email = Static<typeof Email>

/** Ordered by id. Mails older than 30 days are deleted and left out. */
export const EmailList = Closed({ data: Type.Array(Ref(Email)), status: Type.Integer({ examples: [200] }) })
