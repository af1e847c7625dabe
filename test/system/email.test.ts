import t from 'tap'
import { mails } from '#drizzle/tables/mail.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { FROM } from '#test/plugins/mail/posting.ts'
import { smtpError, startSmtp, type Received } from '#test/smtp.ts'
import { EMAIL, sender } from './email-sender.ts'

/** A server that takes, refuses or puts off a recipient by its local part. */
const selective = {
  onRcptTo ({ address }: { address: string }, _session: unknown, done: (err?: Error) => void) {
    const refusals: Record<string, Error> = {
      nessuno: smtpError(550, '5.1.1 no such user nessuno@ospiti.example'),
      piena: smtpError(452, '4.2.2 mailbox full'),
      lista: smtpError(450, 'greylisted, come back')
    }
    done(refusals[address.split('@')[0]!])
  },
  decide ({ envelope }: { envelope: { to: string[] } }) {
    if (envelope.to[0]!.startsWith('filtro')) throw smtpError(554, '5.7.1 spam')
  }
}

const smtp = await startSmtp(t, selective)
const { app, call, post, send, follow, token } = await sender(t, smtp)

/** What arrives from now on. */
function arriving () {
  const before = smtp.mails.length
  return () => smtp.mails.slice(before)
}

t.test('each recipient gets a mail of their own, and the answer says what the server said of each', async (t) => {
  const arrived = arriving()
  const answer = await send({
    recipients: ['ada', 'nessuno', 'filtro', 'lista', 'piena', 'bruno'].map((name) => `${name}@ospiti.example`)
  })
  t.match(answer, {
    success: false,
    status: 200,
    messageId: answer.recipients[0]!.messageId,
    accepted: ['ada@ospiti.example', 'bruno@ospiti.example'],
    rejected: ['nessuno@ospiti.example', 'filtro@ospiti.example'],
    message: '2 e-mail accettate dal server di posta; 2 e-mail rifiutate; 2 e-mail in coda: la consegna prosegue da ' +
      'sola, GET /api/v1/email ne dice l’esito'
  })
  t.same(answer.recipients.map(({ recipient, stato, risposta, spiegazione }) =>
    [recipient.split('@')[0], stato, risposta, spiegazione]), [
    ['ada', 'inviata', '250', 'Accettata dal server di posta'],
    ['nessuno', 'fallita', '550 5.1.1', 'Non consegnata: la casella del destinatario non esiste'],
    ['filtro', 'fallita', '554 5.7.1', 'Non consegnata: la consegna non è autorizzata'],
    ['lista', 'in_coda', '450', 'In coda: la casella del destinatario non è disponibile in questo momento; ' +
      'l’invio si ripete da solo, fino a 24 ore'],
    ['piena', 'in_coda', '452 4.2.2', 'In coda: la casella del destinatario è piena; ' +
      'l’invio si ripete da solo, fino a 24 ore'],
    ['bruno', 'inviata', '250', 'Accettata dal server di posta']
  ])
  t.ok(answer.ms < 9000, 'what was tried once is not waited for')

  t.same(arrived().map(({ envelope }) => envelope), ['ada', 'bruno'].map((name) =>
    ({ from: FROM, to: [`${name}@ospiti.example`] })), 'one recipient per mail')
  for (const { headers, raw } of arrived()) {
    t.match(headers, { from: [`Locanda <${FROM}>`], to: [/^(ada|bruno)@ospiti.example$/], subject: [EMAIL.subject] })
    t.notOk(raw.includes('ada@') && raw.includes('bruno@'))
  }

  const followed = await follow(answer.recipients.map(({ id }) => id))
  t.match(followed.map(({ messageId, stato, risposta }) => ({ messageId, stato, risposta })),
    answer.recipients.map(({ messageId, stato, risposta }) => ({ messageId, stato, risposta })))
  t.same(followed.map(({ prossimo_tentativo: next }) => next !== null), [false, false, false, true, true, false])
  t.notMatch(JSON.stringify(followed), /ospiti/, 'who a mail is for is not kept')
})

t.test('a mail says the same as HTML and as plain text', async (t) => {
  const arrived = arriving()
  await send({
    body: '<html><head><title>no</title></head><body><h1>Città &amp; mare</h1><p>Vedi <a href="https://a.example/x">' +
      'la mappa</a>.</p><table><tr><td>Arrivo</td><td>21 novembre</td></tr></table></body></html>'
  })
  const [mail] = arrived() as [Received]
  t.equal(mail.html, '<h1>Città &amp; mare</h1><p>Vedi <a href="https://a.example/x">la mappa</a>.</p>' +
    '<table><tr><td>Arrivo</td><td>21 novembre</td></tr></table>')
  t.equal(mail.text.replace(/\r\n/g, '\n'),
    'Città & mare\n\nVedi la mappa [https://a.example/x].\n\nArrivo 21 novembre')
})

t.test('an address that is given twice gets one mail, however its domain is written', async (t) => {
  const arrived = arriving()
  const answer = await send({
    recipients: ['ada@ospiti.example', 'ada@OSPITI.example', 'Ada@ospiti.example', 'eva@città.example']
  })
  t.same(answer.accepted, ['ada@ospiti.example', 'Ada@ospiti.example', 'eva@xn--citt-3na.example'])
  t.equal(arrived().length, 3)
})

t.test('a request with anything wrong sends nothing, and the answer names everything that is', async (t) => {
  const arrived = arriving()
  const kept = async () => [
    ...await app.sql`select id from mails order by id`,
    ...await app.sql`select id from audit_log where action = 'email' order by id`
  ].map(({ id }) => String(id))
  const before = await kept()
  const fields = async (email: object) => {
    const answer = await post(email)
    t.equal(answer.statusCode, 400, answer.body)
    return answer.json<{ dettagli: { campo: string }[] }>().dettagli.map(({ campo }) => campo)
  }
  t.same(await fields({ recipients: ['ada@ospiti.example', 'ada', 'b@ospiti.example', 'c@localhost'] }),
    ['recipients[1]', 'recipients[3]'])
  t.same(await fields({ recipients: ['x'], subject: ' ', body: '<script>1</script>' }),
    ['recipients[0]', 'subject', 'body'])
  t.same(await fields({ recipients: [] }), ['recipients'])
  t.same(await fields({ recipients: Array.from({ length: 101 }, (_, at) => `o${at}@ospiti.example`) }), ['recipients'])
  t.same(await fields({ subject: '👋'.repeat(200) }), ['subject'])
  t.same(await fields({ subject: 'a'.repeat(256) }), ['subject'])
  t.same(await fields({ body: 'a'.repeat(200_001) }), ['body'])
  t.same(await fields({ body: '<p>\u0000</p>' }), ['body'])
  t.same(await fields({ from: 'altri@altrove.example' }), ['from'])
  for (const body of ['', '   ', '<p>&nbsp;</p>', '&#8203;', '<img src="https://a.example/x.png">', '<!-- x -->']) {
    t.same(await fields({ body }), ['body'], body)
  }
  for (const body of ['<b>'.repeat(60_000), '<br>'.repeat(20_000) + 'x', '<svg>'.repeat(40_000) + 'x']) {
    t.same(await fields({ body }), ['body'], body.slice(0, 20))
  }
  t.same(await fields({ recipients: Array.from({ length: 60_000 }, () => 'a@b.example') }), ['recipients'])

  t.equal((await call('POST', '/api/send-email', EMAIL)).statusCode, 403, 'the server key is no administrator')
  t.equal((await app.inject({ method: 'POST', url: '/api/send-email', payload: EMAIL })).statusCode, 401)
  t.equal((await call('GET', '/api/v1/email?ids=1')).statusCode, 403)
  t.same(await kept(), before)
  t.equal(arrived().length, 0)
})

t.test('a hundred recipients are a hundred mails', async (t) => {
  const arrived = arriving()
  const recipients = Array.from({ length: 100 }, (_, at) => `ospite-${at}@ospiti.example`)
  const { recipients: answered } = await send({ recipients })
  t.same(answered.map(({ recipient }) => recipient), recipients)
  const ids = answered.map(({ id }) => id)
  await until(async () => (await app.sql`
    select from mails where id in ${app.sql(ids)} and stato = 'in_coda'`).length === 0)
  t.same(arrived().map(({ envelope }) => envelope.to.join()), recipients)
})

t.test('without a mail server the answer is 503, and nothing is kept', async (t) => {
  const { app, post } = await sender(t, undefined)
  t.match((await post()).json(), { status: 503, codice: 'POSTA_NON_CONFIGURATA' })
  t.same(await app.db.select().from(mails), [])
})

t.test('the same Idempotency-Key sends once and gives the same answer', async (t) => {
  const arrived = arriving()
  const first = await post({}, { 'idempotency-key': 'una' })
  const second = await post({}, { 'idempotency-key': 'una' })
  t.equal(second.headers['idempotency-replayed'], 'true')
  t.same(second.json(), first.json())
  t.equal((await post({ subject: 'Altro' }, { 'idempotency-key': 'una' })).statusCode, 422)
  t.equal(arrived().length, 1)
})

t.test('what cannot be written into the audit log is not sent; what is there names nobody', async (t) => {
  const smtp = await startSmtp(t, selective)
  const { app, post, logs } = await sender(t, smtp, { LOG_LEVEL: 'trace' })
  const recipients = ['canarino@ospiti.example', 'nessuno@ospiti.example']
  t.equal((await post({ recipients, subject: 'Segreto', body: '<p>Segreto</p>' })).statusCode, 200)
  const rows = await app.sql<{ details: { recipients: number, fingerprints: string[] } }[]>`
    select actor, object, details from audit_log where action = 'email'`
  t.match(rows, [{ actor: /^user:/, object: /^mail:</, details: { recipients: 2 } }])
  t.match(rows[0]!.details.fingerprints, [/^[0-9a-f]{16}$/, /^[0-9a-f]{16}$/])
  await app.sql`alter table audit_log rename to spento`
  t.equal((await post({ recipients })).statusCode, 503)
  await app.sql`alter table spento rename to audit_log`
  t.equal((await app.db.select().from(mails)).length, 2)
  t.equal(smtp.mails.length, 1)
  await app.close()
  t.notMatch(JSON.stringify([logs, rows]), /canarino|nessuno|segreto/i)
})

t.test('mails can be followed by their ids; unknown ones are left out, and what is no id is refused', async (t) => {
  const { recipients } = await send({ recipients: ['ada@ospiti.example', 'bruno@ospiti.example'] })
  const ids = recipients.map(({ id }) => id)
  t.match(await follow([9_999_999_999, ...ids, 77_777]), ids.map((id) => ({
    id,
    stato: 'inviata',
    risposta: '250',
    tentativi: 1,
    inviata_il: /Z$/,
    prossimo_tentativo: null
  })))
  const headers = { authorization: `Bearer ${await token({ name: 'anna', role: 'admin' })}` }
  for (const query of ['', '?ids=', '?ids=0', '?ids=1,', '?ids=a', '?ids=-1', `?ids=${'1,'.repeat(100)}1`]) {
    t.equal((await app.inject({ url: `/api/v1/email${query}`, headers })).statusCode, 400, query)
  }
})

t.test('once mails are written the caller gets an answer, even if nothing more can be read', async (t) => {
  const smtp = await startSmtp(t, { decide: () => new Promise(() => {}) })
  const { app, post } = await sender(t, smtp)
  const asked = post()
  // The mails are committed: from here on nothing can be read.
  await until(async () => (await app.sql`select from mails where attempts > 0`).length > 0)
  await app.sql`alter table mails rename column reply to spenta`
  t.match((await asked).json(), { success: true, recipients: [{ stato: 'in_coda' }] })
  await app.sql`alter table mails rename column spenta to reply`
})
