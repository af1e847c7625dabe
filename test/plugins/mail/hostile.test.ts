import fc from 'fast-check'
import t from 'tap'
import { mails } from '#drizzle/tables/mail.ts'
import { plainAddress } from '#src/plugins/mail/address.ts'
import type { Mail } from '#src/plugins/mail/queue.ts'
import { anyCharacter } from '#test/any-character.ts'
import { build } from '#test/helper.ts'
import { smtpError, startSmtp } from '#test/smtp.ts'
import { comeDue, environ, FROM, MAIL, over, post, postponed } from './posting.ts'

/** What a mail of ours has above its body, and nothing else. */
const HEADERS = ['content-type', 'date', 'from', 'message-id', 'mime-version', 'subject', 'to']

const TRICKS = [
  '\r\nBcc: vittima@altrove.example',
  '\nBcc: vittima@altrove.example',
  '\rBcc: vittima@altrove.example',
  '\r\n\r\ncorpo',
  '\0',
  '\u2028',
  '\u2029',
  '\u0085',
  '%0aBcc: x',
  '%0d%0a',
  '=?utf-8?Q?=0d=0aBcc:_x?=',
  '=?utf-8?B?DQpCY2M6IHg=?=',
  '\r\n.\r\nMAIL FROM:<x@x.example>\r\n',
  '<!--',
  '"',
  '<',
  '>',
  ',',
  ';',
  ':',
  '(',
  ')',
  '@',
  '\ud800',
  'è',
  '👋',
  ' ',
  'ada'
]
const hostile = fc
  .array(fc.oneof(fc.constantFrom(...TRICKS), fc.string({ unit: anyCharacter, maxLength: 20 })), { maxLength: 6 })
  .map((parts) => parts.join(''))
const smtp = await startSmtp(t)
const { app } = await build(t, environ(smtp))

const address = fc.oneof(
  hostile,
  fc.tuple(hostile, hostile).map(([before, after]) => `${before}ada@ospiti.example${after}`),
  fc.emailAddress(),
  fc.constantFrom(MAIL.to, 'ada@caffè.example')
)

t.test(
  'whatever is put into a mail, either it is refused or one plain mail with that content goes to that one address',
  async (t) => {
    let refused = 0
    const send = async (mail: Mail) => {
      try {
        await post(app, mail)
      } catch (err) {
        t.match(err, { code: 'RICHIESTA_NON_VALIDA', statusCode: 400, dettagli: [{ campo: /^(to|subject)$/ }] })
        refused++
        return
      }
      const { envelope, headers, raw, text, html } = await smtp.next()
      t.same(envelope, { from: FROM, to: [envelope.to[0]] })
      // The domain alone may be written otherwise: the mail server reads it as Unicode.
      const sentTo = plainAddress(mail.to)
      t.equal(plainAddress(envelope.to[0]!), sentTo)
      // A mail in one format alone has its encoding up there, too.
      t.same(
        Object.keys(headers)
          .filter((name) => name !== 'content-transfer-encoding')
          .sort(),
        HEADERS
      )
      for (const values of Object.values(headers)) t.equal(values.length, 1)
      t.equal(headers.to![0], sentTo)
      t.equal(headers.subject![0]!.trim(), mail.subject.trim())
      t.equal(lines(text), lines(mail.text))
      t.equal(lines(html), lines(mail.html))
      t.notMatch(raw, /\0|\r(?!\n)|(?<!\r)\n/, 'and its bytes are lines')
    }
    await fc.assert(
      fc.asyncProperty(fc.record({ to: address, subject: hostile, text: hostile, html: hostile }), send),
      { numRuns: 80 }
    )
    await fc.assert(
      fc.asyncProperty(fc.record({ to: fc.constant(MAIL.to), subject: hostile, text: hostile, html: hostile }), send),
      { numRuns: 80 }
    )
    t.ok(refused > 25 && smtp.mails.length > 25, `${refused} refused, ${smtp.mails.length} sent`)
    t.equal((await app.db.select().from(mails)).length, smtp.mails.length)
  }
)

/** Line ends are all alike in a mail, and half a character is none. */
function lines (text: string): string {
  return text.toWellFormed().replace(/\r\n?|\n/g, '\n').trimEnd()
}

t.test('a subject is one line of 1 to 255 characters', async (t) => {
  for (const subject of ['', ' ', 'a'.repeat(256), 'a\r\nBcc: x@x.example', 'a\nb', 'a\u2028b', 'a\0']) {
    await t.rejects(app.mail.enqueue(app.db, { ...MAIL, subject }), {
      statusCode: 400,
      message: /^Richiesta non valida: subject /
    })
  }
  // Encoded words among them, which must arrive as they were written.
  for (const subject of ['è'.repeat(255), '=?utf-8?Q?=0d=0aBcc:_x?=', 'Re: =?utf-8?B?DQpCY2M6IHg=?= è']) {
    await post(app, { subject })
    t.equal((await smtp.next()).subject, subject)
  }
})

t.test('who a mail is for and what it says is in no log, whatever the server answers', async (t) => {
  const secrets = {
    to: 'canarino@segreti.example',
    subject: 'Oggetto-canarino',
    html: '<b>corpo-canarino</b>',
    text: 'testo-canarino'
  }
  const answers = [
    smtpError(451, 'canarino@segreti.example is busy'),
    smtpError(550, 'canarino@segreti.example is unknown'),
    undefined
  ]
  const smtp = await startSmtp(t, { onRcptTo: (_address, _session, done) => { done(answers.shift()) } })
  const { app, logs, call } = await build(t, { ...environ(smtp), LOG_LEVEL: 'trace' })
  const printed = t.capture(console, 'log')
  const first = await post(app, secrets)
  await postponed(app, first.id)
  await comeDue(app)
  app.mail.deliver()
  t.match(await over(app, first.id), { stato: 'fallita', last_error: '550' })
  const second = await post(app, secrets)
  t.match(await over(app, second.id), { stato: 'inviata' })
  await t.rejects(app.mail.enqueue(app.db, { ...secrets, to: 'canarino@segreti.example\r\n' }))
  const { body } = await call('GET', '/metrics')
  // The table is gone: what the database says about it is logged.
  await app.sql`alter table mails rename to spenta`
  app.mail.deliver()
  await t.rejects(app.mail.enqueue(app.db, secrets))
  await app.close()
  const written = JSON.stringify(logs)
  t.match(written, /mail not delivered/)
  t.match(written, /the mail queue could not be worked on/)
  t.notMatch(written + body, /canarino|segreti/i)
  t.same(printed(), [])
})
