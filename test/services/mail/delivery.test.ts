import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import t, { type Test } from 'tap'
import { mails } from '#drizzle/tables/mail.ts'
import { deleteOld } from '#src/services/mail/queue.ts'
import { smtpOptions } from '#src/services/mail/transport.ts'
import { selfSigned } from '#test/alloggiati/service/soap/certificate.ts'
import { build } from '#test/helper.ts'
import { startSmtp } from '#test/smtp.ts'
import { bareWorker, comeDue, environ, FROM, MAIL, over, post, postponed, putAside, row } from './posting.ts'

const usual = await startSmtp(t)
const server = await build(t, environ(usual))

t.test('a mail is delivered once, from the configured sender, with the Message-ID of its row', async (t) => {
  const { app } = server
  const smtp = usual
  const before = smtp.mails.length
  t.equal(app.mail.configured, true)
  const { id, messageId } = await post(app, {
    subject: 'Conferma: è tutto a posto',
    text: 'Riga uno\r\nRiga due',
    html: '<p>Città &amp; mare</p>'
  })
  const mail = await smtp.next()
  t.same(mail.envelope, { from: FROM, to: [MAIL.to] })
  t.match(mail.headers, {
    from: [`Locanda <${FROM}>`],
    to: [MAIL.to],
    'message-id': [messageId],
    subject: ['Conferma: è tutto a posto']
  })
  t.equal(mail.text, 'Riga uno\r\nRiga due')
  t.equal(mail.html, '<p>Città &amp; mare</p>')
  t.match(messageId, /^<[0-9a-f-]{36}@locanda\.example>$/)

  t.match(await over(app, id), {
    message_id: messageId,
    stato: 'inviata',
    sent_at: Date,
    content: null,
    attempts: 1,
    last_error: null
  })
  await post(app)
  await smtp.next()
  t.equal(smtp.mails.length, before + 2, 'the mail is not sent again with the next one')
})

t.test('a mail is sent only if its transaction commits', async (t) => {
  const { app } = server
  const count = async () => (await app.db.select().from(mails)).length
  const before = await count()
  await t.rejects(app.db.transaction(async (tx) => {
    await app.mail.enqueue(tx, { ...MAIL, subject: 'Annullata' })
    throw new Error('annullata')
  }), { message: 'annullata' })
  await app.db.transaction(async (tx) => {
    await app.mail.enqueue(tx, { ...MAIL, subject: 'Confermata' })
    app.mail.deliver()
  })
  app.mail.deliver()
  t.equal((await usual.next()).subject, 'Confermata')
  t.equal(await count(), before + 1)
})

t.test('a mail still queued at shutdown is sent by the next server', async (t) => {
  const smtp = await startSmtp(t)
  const first = await build(t, environ(smtp))
  const { messageId } = await first.app.mail.enqueue(first.app.db, MAIL)
  await first.app.close()
  const next = await build(t, { ...environ(smtp), DATABASE_URL: first.url })
  t.same((await smtp.next()).headers['message-id'], [messageId])
  await next.app.close()
  t.equal(smtp.mails.length, 1)
})

t.test('two applications on one database deliver each mail once', async (t) => {
  const smtp = await startSmtp(t)
  const one = await build(t, environ(smtp))
  const two = await build(t, { ...environ(smtp), DATABASE_URL: one.url })
  const ids = await Promise.all(Array.from({ length: 20 }, async (_, at) => {
    const { app } = at % 2 === 0 ? one : two
    return (await app.mail.enqueue(app.db, { ...MAIL, to: `ospite-${at}@ospiti.example` })).id
  }))
  one.app.mail.deliver()
  two.app.mail.deliver()
  for (const id of ids) t.match(await over(one.app, id), { stato: 'inviata', attempts: 1 })
  t.same(
    smtp.mails.map(({ envelope }) => envelope.to.join()).sort(),
    ids.map((_, at) => `ospite-${at}@ospiti.example`).sort()
  )
})

t.test('while one process sends a mail, another process skips it and sends the rest', async (t) => {
  const held = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const smtp = await startSmtp(t, {
    decide: ({ subject }) => {
      if (subject !== 'Lenta') return
      begun.resolve()
      return held.promise
    }
  })
  const one = await build(t, environ(smtp))
  const two = await build(t, { ...environ(smtp), DATABASE_URL: one.url })
  const slow = await post(one.app, { subject: 'Lenta' })
  await begun.promise
  await post(two.app, { subject: 'Altra' })
  // Either process may have claimed the slow mail.
  one.app.mail.deliver()
  t.equal((await smtp.next()).subject, 'Altra')
  held.resolve()
  t.match(await over(one.app, slow.id), { stato: 'inviata', attempts: 1 })
  t.same(smtp.mails.map(({ subject }) => subject), ['Altra', 'Lenta'])
})

t.test('mail content is stored encrypted, and erased after delivery', async (t) => {
  const { app } = server
  const secrets = {
    to: 'canarino@segreti.example',
    subject: 'Oggetto canarino',
    html: '<b>corpo canarino</b>',
    text: 'testo canarino'
  }
  const { id } = await putAside(app, secrets)
  const text = async () =>
    (await app.sql<{ line: string }[]>`
      select mails::text || encode(content, 'escape') as line from mails where id = ${id}`)[0]?.line
  t.ok((await row(app, id)).content!.length > JSON.stringify(secrets).length)
  t.notMatch(await text(), /canarino|segreti/i)
  await comeDue(app)
  app.mail.deliver()
  t.match((await usual.next()).raw, /testo canarino/)
  t.match(await over(app, id), { content: null })
})

t.test('content moved to another row is not sent', async (t) => {
  const { app } = server
  const before = usual.mails.length
  const [one, two] = [await putAside(app), await putAside(app)]
  await app.sql`update mails set content = (select content from mails where id = ${one.id}) where id = ${two.id}`
  await comeDue(app)
  app.mail.deliver()
  t.match(await over(app, two.id), { stato: 'fallita', content: null, last_error: 'ILLEGGIBILE' })
  t.match(await over(app, one.id), { stato: 'inviata' })
  await usual.next()
  t.equal(usual.mails.length, before + 1)
})

t.test('without an SMTP server mails are rejected with an Italian message', async (t) => {
  const { app, call } = await build(t, { MAIL_FROM: FROM })
  t.equal(app.mail.configured, false)
  app.mail.deliver()
  await t.rejects(app.mail.enqueue(app.db, MAIL), {
    code: 'POSTA_NON_CONFIGURATA',
    statusCode: 503,
    message: /e-mail non è configurato/
  })
  t.same(await app.db.select().from(mails), [])
  t.match((await call('GET', '/metrics')).body, /^locanda_mails\{stato="in_coda"\} 0$/m)
})

t.test('the metrics count mails by state, and mails are deleted after 30 days', async (t) => {
  const { app, call } = server
  await app.db.delete(mails)
  const { id } = await post(app)
  await over(app, id)
  await usual.next()
  const aside = await putAside(app)
  const { body } = await call('GET', '/metrics')
  t.match(body, /^locanda_mails\{stato="inviata"\} 1$/m)
  t.match(body, /^locanda_mails\{stato="in_coda"\} 1$/m)
  t.match(body, /^locanda_mails\{stato="fallita"\} 0$/m)

  await app.sql`update mails set created_at = now() - interval '29 days' where id = ${id}`
  await deleteOld(app.db)
  t.equal((await app.db.select().from(mails)).length, 2)
  await app.sql`update mails set created_at = now() - interval '31 days' where id = ${id}`
  await deleteOld(app.db)
  t.same((await app.db.select().from(mails)).map((mail) => mail.id), [aside.id])
  await app.db.delete(mails)
})

t.test('invalid mail settings prevent the start', async (t) => {
  const refused = (changes: Record<string, string>, message: RegExp) =>
    t.rejects(build(t, { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: FROM, ...changes }), { message })
  await refused({ SMTP_URL: 'smtp://127.0.0.1:1/?tls.rejectUnauthorized=false' }, /^SMTP_URL: /)
  await refused({ MAIL_FROM: 'Locanda' }, /^MAIL_FROM: /)
  await refused({ MAIL_FROM: `Uno <${FROM}>, Due <due@locanda.example>` }, /^MAIL_FROM: /)
})

const certificate = selfSigned(t.testdir(), 'IP:127.0.0.1')
const skip = certificate === undefined ? 'openssl is not installed: no certificate to test with' : false
if (skip) t.comment(skip)

const SERVERS = {
  'TLS from the beginning': { ...certificate, secure: true, disabledCommands: ['AUTH'] },
  STARTTLS: { ...certificate, disabledCommands: ['AUTH'] }
}

/** Trusts a certificate in this process until the test ends, as an administrator could configure it. */
function trust (t: Test, certificate: string): void {
  const before = getCACertificates('default')
  t.teardown(() => setDefaultCACertificates(before))
  setDefaultCACertificates([...before, certificate])
}

for (const [name, options] of Object.entries(SERVERS)) {
  t.test(
    `${name}: nothing is sent to a server with an untrusted certificate`,
    { skip },
    async (t) => {
      const smtp = await startSmtp(t, options)
      const { db, worker, enqueue } = await bareWorker(t, smtp)
      const { id } = await enqueue()
      worker.wake()
      t.match(await postponed({ db }, id), { last_error: 'DEPTH_ZERO_SELF_SIGNED_CERT', attempts: 1 })
      t.equal(smtp.mails.length, 0)

      trust(t, certificate!.cert)
      await comeDue({ db })
      worker.wake()
      t.match(await over({ db }, id), { stato: 'inviata' })
      t.match((await smtp.next()).secure, true)
    }
  )
}

t.test('the environment cannot turn off certificate verification', { skip }, async (t) => {
  t.intercept(process, 'emitWarning', { value: () => {} })
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.teardown(() => { delete process.env.NODE_TLS_REJECT_UNAUTHORIZED })
  for (const options of Object.values(SERVERS)) {
    const smtp = await startSmtp(t, options)
    const { db, worker, enqueue } = await bareWorker(t, smtp)
    const { id } = await enqueue()
    worker.wake()
    t.match(await postponed({ db }, id), { last_error: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
    t.equal(smtp.mails.length, 0)
  }
})

t.test('a server that is not on loopback gets nothing in plain text', async (t) => {
  // A loopback server, with an address that is not recognized as loopback.
  const smtp = await startSmtp(t)
  const { db, worker, enqueue } = await bareWorker(t, { url: `smtp://[::ffff:127.0.0.1]:${smtp.port}` })
  const { id } = await enqueue()
  worker.wake()
  t.match(await postponed({ db }, id), { last_error: 'ETLS' })
  t.equal(smtp.mails.length, 0)
})

t.test('smtpOptions parses credentials, host, port and TLS mode from the URL', async (t) => {
  t.match(smtpOptions('smtps://posta%40locanda:p%3Aa%2Fss@smtp.example:4650'), {
    host: 'smtp.example',
    port: 4650,
    secure: true,
    auth: { user: 'posta@locanda', pass: 'p:a/ss' },
    tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2' }
  })
  const plain = smtpOptions('smtp://smtp.example')
  t.match(plain, { host: 'smtp.example', port: 587, secure: false, requireTLS: true })
  t.notOk('auth' in plain)
  t.equal(smtpOptions('smtp://[2001:db8::1]:25/').host, '2001:db8::1')
  for (const loopback of ['localhost', 'LOCALHOST', '127.0.0.1', '127.9.9.9', '[::1]']) {
    t.equal(smtpOptions(`smtp://${loopback}:25`).requireTLS, false, loopback)
  }
  for (const other of ['localhost.example', '127.0.0.1.example', '128.0.0.1', '[::2]', '0.0.0.0', '10.0.0.1']) {
    t.equal(smtpOptions(`smtp://${other}:25`).requireTLS, true, other)
  }
})

t.test('smtpOptions rejects an invalid URL without leaking its password', async (t) => {
  const urls = [
    'smtp://posta:segreta@127.0.0.1?tls.rejectUnauthorized=false', 'smtp://posta:segreta@127.0.0.1/?logger=true',
    'smtp://posta:segreta@127.0.0.1/cartella', 'smtp://posta:segreta@127.0.0.1#x', 'smtp://posta:segreta%@127.0.0.1',
    'smtp://', 'smtp:///segreta', 'smtp://posta:segreta@127.0.0.1:99999'
  ]
  for (const url of urls) {
    t.throws(() => smtpOptions(url), { name: 'ConfigError', message: /^SMTP_URL: (?!.*segreta)/ }, url)
  }
})
