import fc from 'fast-check'
import t from 'tap'
import { mails } from '#drizzle/tables/mail.ts'
import { mailbox, plainAddress } from '#src/services/mail/mail-address.ts'
import type { Mail } from '#src/services/mail/queue.ts'
import { replyCodes } from '#src/services/mail/smtp-reply-codes.ts'
import { anyCharacter } from '#test/any-character.ts'
import { build } from '#test/helper.ts'
import { smtpError, startSmtp } from '#test/smtp.ts'
import { comeDue, environ, FROM, MAIL, over, post, postponed } from './posting.ts'

const LONGEST = `${'a'.repeat(64)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(58)}.it`

const smtp = await startSmtp(t)
const { app } = await build(t, environ(smtp))

t.test('plainAddress keeps a plain address, with its domain in lower case and ASCII', async (t) => {
  const taken = {
    'ada@ospiti.example': 'ada@ospiti.example',
    'Ada.Prova+nota@OSPITI.Example': 'Ada.Prova+nota@ospiti.example',
    "o'neill_1-2@a-b.sub.example": "o'neill_1-2@a-b.sub.example",
    '{a}=b&c#d$e*f?g^h`i~j@x1.example': '{a}=b&c#d$e*f?g^h`i~j@x1.example',
    'ada@città.example': 'ada@xn--citt-3na.example',
    'ada@xn--citt-3na.example': 'ada@xn--citt-3na.example',
    [LONGEST]: LONGEST
  }
  for (const [text, address] of Object.entries(taken)) t.equal(plainAddress(text), address, text)
  t.equal(LONGEST.length, 254)
})

t.test('plainAddress rejects text that only resembles an address, or contains several', async (t) => {
  const refused = [
    '', '@', 'ada', 'ada@', '@ospiti.example', 'ada@ospiti', 'ada@localhost', 'ada@127.0.0.1', 'ada@[127.0.0.1]',
    'ada@[IPv6:::1]', 'ada@1.2', 'ada@ospiti.example,bruno@ospiti.example', 'ada@ospiti.example;bruno@ospiti.example',
    'ada@ospiti.example bruno@ospiti.example', 'ada@buono.example(x)cattivo.example', 'ada(x)@ospiti.example',
    '(x)ada@ospiti.example', '"ada"@ospiti.example', '"ada@cattivo.example"@ospiti.example',
    'Ada <ada@ospiti.example>', '<ada@ospiti.example>', 'gruppo:ada@ospiti.example;',
    'ada@cattivo.example@ospiti.example', '@relay.example:ada@ospiti.example', 'ada%cattivo.example@ospiti.example',
    'cattivo.example!ada@ospiti.example', 'ada%0abcc@ospiti.example', '|comando@ospiti.example',
    '=?utf-8?q?x=40altrove.example=3e=20?=@ospiti.example', '/etc/x@ospiti.example', 'ada..prova@ospiti.example',
    '.ada@ospiti.example', 'ada.@ospiti.example', 'ada@.example', 'ada@ospiti..example', 'ada@ospiti.example.',
    'ada@-ospiti.example', 'ada@ospiti-.example', 'ada@ospiti_1.example', 'città@ospiti.example',
    'ada@ospiti.example\\', 'ada\\@ospiti.example', 'ada@exam\u00adple.example', 'ada@ospiti\u200b.example',
    'ada@ospiti．example', ' ada@ospiti.example', 'ada@ospiti.example ',
    `${'a'.repeat(65)}@ospiti.example`,
    `ada@${'a'.repeat(64)}.example`,
    LONGEST.replace('.it', 'x.it'),
    `${'a'.repeat(64)}@${'b.'.repeat(95)}it`,
    `ada@${'città.'.repeat(30)}example`
  ]
  const ends = ['\r', '\n', '\r\n', '\0', '\t', '\v', '\u0085', '\u2028', '\u2029', '\ufeff', '\ud800']
  for (const end of ends) {
    refused.push(
      `ada${end}@ospiti.example`,
      `ada@ospiti${end}.example`,
      `ada@ospiti.example${end}`,
      `${end}ada@ospiti.example`
    )
  }
  t.same(refused.filter((text) => plainAddress(text) !== undefined), [])
})

t.test(
  'plainAddress returns at most 254 ASCII characters, and accepts its own results unchanged',
  async (t) => {
    const pieces = fc.constantFrom(
      'ada', '.', '@', 'ospiti', 'example', 'è', '(', ')', '"', '<', '>', ',', ';', ':', '%', '%0a', '\r\n', '\0',
      '\u2028', ' ', '-',
      'xn--'
    )
    const texts = fc.oneof(
      fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join('')),
      fc.emailAddress(),
      fc.string({ unit: anyCharacter })
    )
    let taken = 0
    fc.assert(
      fc.property(texts, (text) => {
        const address = plainAddress(text)
        if (address === undefined) return
        taken++
        t.match(address, /^[!-~]{1,64}@[a-z0-9.-]+$/)
        t.notMatch(address, /[\s(),:;<>[\]"\\%!|/]|@.*@/)
        t.ok(address.length <= 254)
        t.equal(plainAddress(address), address)
      }),
      { numRuns: 2000 }
    )
    t.ok(taken > 50, 'some texts are accepted')
  }
)

t.test('plainAddress rejects text of a million characters', async (t) => {
  for (const text of [
    'a'.repeat(1e6),
    `${'a.'.repeat(5e5)}@x.example`,
    `ada@${'a.'.repeat(5e5)}`,
    `ada@${'a'.repeat(5e5)}!`
  ]) { t.equal(plainAddress(text), undefined) }
})

t.test('mailbox accepts one address with or without a name, and rejects other text', async (t) => {
  t.same(mailbox('posta@locanda.example'), { name: '', address: 'posta@locanda.example' })
  t.same(mailbox('Locanda del Mare <posta@locanda.example>'), {
    name: 'Locanda del Mare',
    address: 'posta@locanda.example'
  })
  t.same(mailbox('"Locanda, Città" <posta@locanda.example>'), {
    name: 'Locanda, Città',
    address: 'posta@locanda.example'
  })
  t.same(mailbox('<posta@locanda.example>'), { name: '', address: 'posta@locanda.example' })
  const refused = [
    '', 'Locanda', 'Locanda <>', 'A <a@x.example> B <b@x.example>', 'Locanda\r\nBcc: x@x.example <a@x.example>',
    'A <a@x.example', 'A a@x.example>', 'A\\ <a@x.example>'
  ]
  t.same(refused.filter((text) => mailbox(text) !== undefined), [])
})

/** The only headers of the mails. */
const HEADERS = ['content-type', 'date', 'from', 'message-id', 'mime-version', 'subject', 'to']

const TRICKS = [
  '\r\nBcc: vittima@altrove.example', '\nBcc: vittima@altrove.example', '\rBcc: vittima@altrove.example',
  '\r\n\r\ncorpo', '\0', '\u2028', '\u2029', '\u0085', '%0aBcc: x', '%0d%0a', '=?utf-8?Q?=0d=0aBcc:_x?=',
  '=?utf-8?B?DQpCY2M6IHg=?=', '\r\n.\r\nMAIL FROM:<x@x.example>\r\n', '<!--', '"', '<', '>', ',', ';', ':', '(', ')',
  '@', '\ud800', 'è', '👋', ' ', 'ada'
]

const hostile = fc
  .array(fc.oneof(fc.constantFrom(...TRICKS), fc.string({ unit: anyCharacter, maxLength: 20 })), { maxLength: 6 })
  .map((parts) => parts.join(''))

const address = fc.oneof(
  hostile,
  fc.tuple(hostile, hostile).map(([before, after]) => `${before}ada@ospiti.example${after}`),
  fc.emailAddress(),
  fc.constantFrom(MAIL.to, 'ada@caffè.example')
)

t.test(
  'a mail with hostile text is rejected, or sent as one mail with its content to its recipient only',
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
      // Only the domain may differ, because the mail server converts it to Unicode.
      const sentTo = plainAddress(mail.to)
      t.equal(plainAddress(envelope.to[0]!), sentTo)
      // The headers of a mail with a single part also contain its encoding.
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
      t.notMatch(raw, /\0|\r(?!\n)|(?<!\r)\n/, 'the raw mail has no wrong line breaks')
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

/** Normalizes line ends, and replaces lone surrogates as mails do. */
function lines (text: string): string {
  return text.toWellFormed().replace(/\r\n?|\n/g, '\n').trimEnd()
}

t.test('logs contain neither recipient nor content of a mail, accepted, deferred or rejected', async (t) => {
  const secrets = {
    to: 'canarino@segreti.example',
    subject: 'Oggetto-canarino',
    html: '<b>corpo-canarino</b>',
    text: 'testo-canarino'
  }
  const responses = [
    smtpError(451, 'canarino@segreti.example is busy'),
    smtpError(550, 'canarino@segreti.example is unknown'),
    undefined
  ]
  const smtp = await startSmtp(t, { onRcptTo: (_address, _session, done) => { done(responses.shift()) } })
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
  // Makes the database report errors about the table.
  await app.sql`alter table mails rename to spenta`
  app.mail.deliver()
  await t.rejects(app.mail.enqueue(app.db, secrets))
  await app.close()
  const written = JSON.stringify(logs)
  t.match(written, /mail not delivered/)
  t.match(written, /the mail queue could not be processed/)
  t.notMatch(written + body, /canarino|segreti/i)
  t.same(printed(), [])
})

t.test('only the codes of a reply are stored', async (t) => {
  const replies = {
    '250 2.0.0 Ok: queued as 4F': '250 2.0.0',
    '250 Ok': '250',
    '550-5.1.1 no such user\n550 5.1.1 ada@ospiti.example': '550 5.1.1',
    '550 5.1.1': '550 5.1.1',
    '550 5.1.10 null MX': '550 5.1.10',
    '450 5.1.1 another class': '450',
    '550 5.1.1234 no code': '550',
    '554 5.7.1.9 no code': '554',
    421: '421'
  }
  for (const [reply, codes] of Object.entries(replies)) t.equal(replyCodes(reply), codes, reply)
  for (const text of ['', 'ada@ospiti.example', '99', '650 x', 'x 550 5.1.1']) t.equal(replyCodes(text), null, text)
})
