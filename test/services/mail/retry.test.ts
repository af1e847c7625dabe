import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { claim, delivered, failed } from '#src/services/mail/queue.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { testDatabase } from '#test/database.ts'
import { build } from '#test/helper.ts'
import { listening } from '#test/loopback.ts'
import { smtpError, startSmtp, type Received } from '#test/smtp.ts'
import { bareWorker, comeDue, environ, MAIL, over, post, postponed, putAside, row } from './posting.ts'

/** Accepts every mail, unless a test sets another behaviour. */
const behaviour: { [at in 'onMailFrom' | 'onRcptTo']?: Error } & { decide?: (mail: Received) => void } = {}
const usual = await startSmtp(t, {
  onMailFrom: (_, __, done) => { done(behaviour.onMailFrom) },
  onRcptTo: (_, __, done) => { done(behaviour.onRcptTo) },
  decide: (mail) => behaviour.decide?.(mail)
})
const server = await build(t, environ(usual))

t.test('while the SMTP server is down a mail waits, and is delivered by a later attempt', async (t) => {
  const down = await startSmtp(t)
  await down.close()
  const { app, logs } = await build(t, environ(down))
  const { id, messageId } = await post(app)
  const waiting = await postponed(app, id)
  t.match(waiting, { attempts: 1, last_error: 'ECONNREFUSED', sent_at: null, content: Buffer })
  const [next] = await app.sql<
    { seconds: number }[]
  >`select extract(epoch from next_attempt_at - now())::float as seconds from mails`
  t.ok(next!.seconds > 30 && next!.seconds <= 60)
  t.match(
    logs.filter(({ mail }) => mail === id),
    [{ level: 40, msg: 'mail not delivered', codice: 'ECONNREFUSED', attempts: 1 }]
  )

  const up = await startSmtp(t, { port: down.port })
  await comeDue(app)
  app.mail.deliver()
  t.same((await up.next()).headers['message-id'], [messageId])
  t.match(await over(app, id), { stato: 'inviata', attempts: 2, last_error: null })
})

t.test('an outage causes one attempt for one mail, and not for every mail', async (t) => {
  const down = await startSmtp(t)
  await down.close()
  const { db, worker, enqueue } = await bareWorker(t, down)
  const [first, second] = [await enqueue(), await enqueue()]
  worker.wake()
  await postponed({ db }, first.id)
  await worker.stop()
  t.match(await row({ db }, second.id), { attempts: 0 })
})

t.test("a permanently refused mail is not retried, and only the reply's code is stored", async (t) => {
  const { app, logs } = server
  const before = usual.mails.length
  for (const [codice, refusal] of [
    ['550', { onMailFrom: smtpError(550, 'no such sender ada@ospiti.example') }],
    ['551', { onRcptTo: smtpError(551, 'no such user ada@ospiti.example') }],
    ['554', { decide: () => { throw smtpError(554, 'spam from ada@ospiti.example') } }]
  ] as const) {
    Object.assign(behaviour, { onMailFrom: undefined, onRcptTo: undefined, decide: undefined }, refusal)
    const { id } = await post(app)
    t.match(await over(app, id), { stato: 'fallita', content: null, last_error: codice, attempts: 1, sent_at: null })
    const said = () => logs.filter(({ mail }) => mail === id)
    await until(() => said().length > 0)
    t.match(said(), [{ level: 50, stato: 'fallita', codice }])
  }
  delete behaviour.decide
  t.equal(usual.mails.length, before)
})

t.test('a temporarily refused mail does not delay others', async (t) => {
  const { app } = server
  const smtp = usual
  behaviour.decide = ({ subject }) => {
    if (subject === 'Prima') throw smtpError(451, 'greylisted')
  }
  const first = await app.mail.enqueue(app.db, { ...MAIL, subject: 'Prima' })
  await post(app, { subject: 'Seconda' })
  t.equal((await smtp.next()).subject, 'Seconda')
  t.match(await postponed(app, first.id), { attempts: 1, last_error: '451' })
  delete behaviour.decide
  await comeDue(app, first.id)
  app.mail.deliver()
  t.equal((await smtp.next()).subject, 'Prima')
})

t.test('delivery of a mail ends after 24 hours, but only after at least one attempt', async (t) => {
  const { app } = server
  behaviour.decide = () => { throw smtpError(451, 'busy') }
  const [old, younger] = [await putAside(app), await putAside(app)]
  await app.sql`update mails set created_at = now() - interval '25 hours' where id = ${old.id}`
  await app.sql`update mails set created_at = now() - interval '23 hours' where id = ${younger.id}`
  await comeDue(app)
  app.mail.deliver()
  t.match(await over(app, old.id), { stato: 'fallita', content: null, last_error: '451', attempts: 1 })
  t.match(await postponed(app, younger.id), { attempts: 1 })
  delete behaviour.decide
  await app.sql`
    update mails set created_at = now() - interval '25 hours', next_attempt_at = now() - interval '1 second'
    where id = ${younger.id}`
  app.mail.deliver()
  t.match(await over(app, younger.id), { stato: 'inviata' })
  await usual.next()
})

t.test(
  'a mail whose connection breaks before the reply is sent again with the same Message-ID',
  async (t) => {
    const cut = { next: true }
    const smtp = await startSmtp(t, {
      decide: () => {
        // The mail is accepted, but the reply is never sent.
        if (cut.next) for (const socket of sockets) socket.destroy()
        cut.next = false
      }
    })
    const sockets = new Set<Socket>()
    const relay = createServer((socket) => {
      const onward = connect(smtp.port, '127.0.0.1')
      for (const end of [socket, onward]) sockets.add(end.on('error', () => {}))
      socket.pipe(onward).pipe(socket)
    })
    const { app } = await build(t, environ({ url: `smtp://127.0.0.1:${await listening(t, relay)}` }))
    const { id, messageId } = await post(app)
    t.match(await postponed(app, id), { attempts: 1 })
    t.equal(smtp.mails.length, 1)
    await comeDue(app)
    app.mail.deliver()
    t.match(await over(app, id), { stato: 'inviata', attempts: 2 })
    t.same(smtp.mails.map(({ headers }) => headers['message-id']), [[messageId], [messageId]])
  }
)

t.test(
  'a mail of a killed process is claimed after its lease expires, and that process cannot change it',
  async (t) => {
    const smtp = await startSmtp(t)
    const { db, worker, enqueue } = await bareWorker(t, smtp)
    const { id } = await enqueue()
    const dead = await claim(db)
    t.match(dead, { id, attempts: 1 })
    t.equal(await claim(db), undefined, 'a claimed mail is not claimed again')
    await comeDue({ db })
    const heir = await claim(db)
    await delivered(db, dead!, '250 2.0.0')
    await failed(db, dead!, { code: '550', permanent: true, ofThisMail: true }, '550 5.1.1')
    t.match(await row({ db }, id), { stato: 'in_coda', attempts: 2, last_error: null, reply: null, content: Buffer })
    t.equal(await failed(db, heir!, { code: '451', permanent: false, ofThisMail: true }, '451'), 'in_coda')
    await comeDue({ db })
    worker.wake()
    await smtp.next()
    t.match(await over({ db }, id), { stato: 'inviata', attempts: 3 })
  }
)

t.test(
  'a refused login is tried once, and again after a restart',
  async (t) => {
    let logins = 0
    let password = 'giusta'
    const smtp = await startSmtp(t, {
      disabledCommands: ['STARTTLS'],
      allowInsecureAuth: true,
      onAuth ({ username, password: given }, _session, done) {
        logins++
        if (username === 'posta@locanda' && given === password) return done(null, { user: 'posta' })
        done(smtpError(535, 'wrong password for posta@locanda'))
      }
    })
    const settings = environ({ url: smtp.url.replace('//', '//posta%40locanda:sbagliata@') })
    const { app, url } = await build(t, settings)
    const first = await post(app)
    t.match(await postponed(app, first.id), { last_error: 'EAUTH', attempts: 1 })
    await post(app)
    await post(app)
    await app.close()
    t.equal(logins, 1)

    password = 'sbagliata'
    const next = await build(t, { ...settings, DATABASE_URL: url })
    t.match(await over(next.app, first.id), { stato: 'inviata' })
    await smtp.next()
    await smtp.next()
    await smtp.next()
    t.equal(logins, 2, 'one connection for all mails')
  }
)

t.test('a server that requires a login first does not count as refusing the mail', async (t) => {
  const smtp = await startSmtp(t, { disabledCommands: ['STARTTLS'] })
  const { app } = await build(t, environ(smtp))
  const { id } = await post(app)
  t.match(await postponed(app, id), { last_error: '530', attempts: 1 })
})

t.test('an SMTP server that never responds does not delay shutdown, and the mail stays queued', async (t) => {
  const begun = Promise.withResolvers<void>()
  const smtp = await startSmtp(t, {
    decide: () => {
      begun.resolve()
      return new Promise(() => {})
    }
  })
  const { db, worker, enqueue } = await bareWorker(t, smtp, { closeWithinMs: 1000 })
  const { id } = await enqueue()
  worker.wake()
  await begun.promise
  await worker.stop()
  t.match(await row({ db }, id), { stato: 'in_coda', last_error: 'EABORT', content: Buffer })
})

t.test(
  'a database that hangs does not delay shutdown, and nothing is sent afterwards',
  async (t) => {
    const smtp = await startSmtp(t)
    const { db, worker, enqueue } = await bareWorker(t, smtp, { closeWithinMs: 50 })
    const { id } = await enqueue()
    await db.transaction(async (tx) => {
      await tx.execute('lock table mails in access exclusive mode')
      worker.wake()
      await worker.stop()
    })
    await worker.stop()
    t.match(await row({ db }, id), { stato: 'in_coda', content: Buffer })
    t.equal(smtp.mails.length, 0)
  }
)

t.test('shutdown finishes the current mail and leaves the next one queued', async (t) => {
  const held = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const smtp = await startSmtp(t, {
    decide: () => {
      begun.resolve()
      return held.promise
    }
  })
  const { db, url } = await testDatabase(t)
  const { app } = await build(t, { ...environ(smtp), DATABASE_URL: url })
  const first = await app.mail.enqueue(app.db, MAIL)
  const second = await post(app)
  await begun.promise
  const closed = app.close()
  // Enough time for a shutdown that does not wait.
  await sleep(500)
  held.resolve()
  await closed
  t.match(await row({ db }, first.id), { stato: 'inviata' })
  t.match(await row({ db }, second.id), { stato: 'in_coda', attempts: 0 })
})
