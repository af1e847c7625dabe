import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { testDatabase } from '#test/database.ts'
import { build, temporaryFolder } from '#test/helper.ts'
import { comeDue, environ, over, postponed } from '#test/plugins/mail/posting.ts'
import { startServer } from '#test/running-server.ts'
import { startSmtp } from '#test/smtp.ts'
import { EMAIL, sender } from './email-sender.ts'

/** Ten seconds, and a busy machine. */
const IN_TIME_MS = 25_000
const RECIPIENTS = ['ada@ospiti.example', 'bruno@ospiti.example']

/** A server that does no more than this with whoever connects. */
async function crooked (t: Test, onConnection: (socket: { destroy (): void }) => void) {
  const sockets = new Set<{ destroy (): void }>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    onConnection(socket)
  })
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

t.test('a server that is slow does not hold up the answer; its reply arrives later, and the mail once', async (t) => {
  const answered = Promise.withResolvers<void>()
  const smtp = await startSmtp(t, { decide: () => answered.promise })
  const { app, send, follow } = await sender(t, smtp)
  const answer = await send({ recipients: RECIPIENTS })
  t.ok(answer.ms > 9000 && answer.ms < IN_TIME_MS, String(answer.ms))
  t.match(answer, {
    success: true,
    accepted: [],
    rejected: [],
    message: /^2 e-mail in coda/,
    recipients: RECIPIENTS.map((recipient) => ({ recipient, stato: 'in_coda', risposta: null, spiegazione: /coda/ }))
  })
  answered.resolve()
  const ids = answer.recipients.map(({ id }) => id)
  for (const id of ids) await over(app, id)
  t.match(await follow(ids), ids.map(() => ({ stato: 'inviata', risposta: '250', tentativi: 1 })))
  t.same(smtp.mails.map(({ envelope }) => envelope.to), RECIPIENTS.map((to) => [to]))
})

t.test('a server that never says a word is not waited for', async (t) => {
  const { send } = await sender(t, await crooked(t, () => {}))
  const answer = await send({ recipients: RECIPIENTS })
  t.ok(answer.ms < IN_TIME_MS, String(answer.ms))
  t.match(answer, { success: true, accepted: [], rejected: [], recipients: [{ stato: 'in_coda' }, {}] })
})

t.test('with a server that hangs up, or none at all, the mail is in the queue and the reason is said', async (t) => {
  const down = await startSmtp(t)
  await down.close()
  for (const server of [await crooked(t, (socket) => socket.destroy()), down]) {
    const { app, send } = await sender(t, server)
    const answer = await send()
    t.ok(answer.ms < IN_TIME_MS, String(answer.ms))
    t.match(answer, {
      success: true,
      recipients: [{
        stato: 'in_coda',
        risposta: null,
        spiegazione: 'In coda: il server di posta non è raggiungibile o non risponde; ' +
          'l’invio si ripete da solo, fino a 24 ore'
      }]
    })
    const { id } = answer.recipients[0]!
    await postponed(app, id)
    if (server !== down) continue
    const up = await startSmtp(t, { port: down.port })
    await comeDue(app, id)
    app.mail.deliver()
    await over(app, id)
    t.equal(up.mails.length, 1)
  }
})

t.test('the outcome is known whichever process delivers', async (t) => {
  const held = Promise.withResolvers<void>()
  const smtp = await startSmtp(t, { decide: () => held.promise })
  const one = await sender(t, smtp)
  const two = await sender(t, smtp, { DATABASE_URL: one.url })
  const [first, second] = [one.send({ recipients: RECIPIENTS }), two.send({ recipients: ['carla@ospiti.example'] })]
  held.resolve()
  t.match(await first, { accepted: RECIPIENTS })
  t.match(await second, { accepted: ['carla@ospiti.example'] })
  t.equal(smtp.mails.length, 3)
})

t.test('what was answered as queued is sent by the next start, even if the process was killed', async (t) => {
  const { url } = await testDatabase(t)
  const silent = await crooked(t, () => {})
  const settings = (smtp: { url: string }) => ({
    ...environ(smtp),
    DATABASE_URL: url,
    DATA_DIR: temporaryFolder(t),
    ADMIN_EMAIL: 'anna@example.org',
    ADMIN_PASSWORD: 'una-password-di-prova-lunga'
  })
  const first = await startServer(settings(silent))
  const session = await first.post('/auth/v1/token?grant_type=password', {
    email: 'anna@example.org',
    password: 'una-password-di-prova-lunga'
  })
  const { access_token: token } = await session.json() as { access_token: string }
  const answer = await fetch(`${first.address}/api/send-email`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...EMAIL, recipients: RECIPIENTS })
  })
  t.match(await answer.json(), { recipients: [{ stato: 'in_coda' }, { stato: 'in_coda' }] })
  await first.kill()

  const smtp = await startSmtp(t)
  await build(t, settings(smtp))
  // The one that the dead process was sending comes when its claim has run out.
  t.same((await smtp.next()).envelope.to, [RECIPIENTS[1]])
  t.match(smtp.mails.map(({ headers }) => headers.subject), [[EMAIL.subject]])
})
