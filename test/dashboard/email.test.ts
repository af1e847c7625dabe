import type { LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { mails } from '#drizzle/tables/mail.ts'
import type { Email, EmailResponse } from '#schemas/email.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { build, type TestApp } from '#test/helper.ts'
import { environ, FROM, over } from '#test/services/mail/posting.ts'
import { type Received, smtpError, startSmtp } from '#test/smtp.ts'

/** The email that a test sends by default. */
const EMAIL = {
  recipients: ['ada@ospiti.example'],
  subject: 'Il vostro arrivo',
  body: '<p>Vi aspettiamo dalle <b>15</b>.</p>'
}

interface Sender extends TestApp {
  /** `POST /api/send-email` by an administrator. */
  post (email?: Partial<typeof EMAIL>, headers?: Record<string, string>): Promise<LightMyRequestResponse>
  /** The response of a successful `post`, with the response time in milliseconds. */
  send (email?: Partial<typeof EMAIL>): Promise<EmailResponse & { ms: number }>
  /** `GET /api/v1/email` by an administrator. */
  follow (ids: readonly number[]): Promise<Email[]>
}

/** An application that sends through this mail server, and an administrator. */
async function sender (
  t: Test,
  smtp: { url: string } | undefined,
  environment: Record<string, string> = {}
): Promise<Sender> {
  const built = await build(t, { ...(smtp && environ(smtp)), ...environment })
  const authorization = `Bearer ${await built.token({ name: 'anna', role: 'admin' })}`
  const post: Sender['post'] = (email, headers = {}) =>
    built.app.inject({
      method: 'POST',
      url: '/api/send-email',
      headers: { authorization, ...headers },
      payload: { ...EMAIL, ...email }
    })
  return {
    ...built,
    post,
    async send (email) {
      const startedAt = performance.now()
      const response = await post(email)
      t.equal(response.statusCode, 200, response.body)
      return { ...response.json<EmailResponse>(), ms: performance.now() - startedAt }
    },
    async follow (ids) {
      const url = `/api/v1/email?ids=${ids.join()}`
      return (await built.app.inject({ url, headers: { authorization } })).json<{ data: Email[] }>().data
    }
  }
}

/** A mail server that accepts, rejects or defers a mail by the local part of its recipient. */
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

/** Collects the mails that arrive from now on. */
function arriving () {
  const before = smtp.mails.length
  return () => smtp.mails.slice(before)
}

t.test('each recipient gets a separate mail, and the response has the mail server\'s reply for each', async (t) => {
  const arrived = arriving()
  const response = await send({
    recipients: ['ada', 'nessuno', 'filtro', 'lista', 'piena', 'bruno'].map((name) => `${name}@ospiti.example`)
  })
  t.match(response, {
    success: false,
    status: 200,
    messageId: response.recipients[0]!.messageId,
    accepted: ['ada@ospiti.example', 'bruno@ospiti.example'],
    rejected: ['nessuno@ospiti.example', 'filtro@ospiti.example'],
    message: '2 e-mail accettate dal server di posta; 2 e-mail rifiutate; 2 e-mail in coda: la consegna prosegue da ' +
      'sola, GET /api/v1/email ne dice l’esito'
  })
  t.same(response.recipients.map(({ recipient, stato, risposta, spiegazione }) =>
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
  t.ok(response.ms < 9000, 'the answer waits only for first attempts')

  t.same(arrived().map(({ envelope }) => envelope), ['ada', 'bruno'].map((name) =>
    ({ from: FROM, to: [`${name}@ospiti.example`] })), 'one recipient per mail')
  for (const { headers, raw } of arrived()) {
    t.match(headers, { from: [`Locanda <${FROM}>`], to: [/^(ada|bruno)@ospiti.example$/], subject: [EMAIL.subject] })
    t.notOk(raw.includes('ada@') && raw.includes('bruno@'))
  }

  const followed = await follow(response.recipients.map(({ id }) => id))
  t.match(followed.map(({ messageId, stato, risposta }) => ({ messageId, stato, risposta })),
    response.recipients.map(({ messageId, stato, risposta }) => ({ messageId, stato, risposta })))
  t.same(followed.map(({ prossimo_tentativo: next }) => next !== null), [false, false, false, true, true, false])
  t.notMatch(JSON.stringify(followed), /ospiti/, 'the recipient is not stored')
})

t.test('a mail has the same content as HTML and as plain text', async (t) => {
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

t.test('a request with any error sends no mail, and the response names all errors', async (t) => {
  const arrived = arriving()
  const kept = async () => [
    ...await app.sql`select id from mails order by id`,
    ...await app.sql`select id from audit_log where action = 'email' order by id`
  ].map(({ id }) => String(id))
  const before = await kept()
  const fields = async (email: object) => {
    const response = await post(email)
    t.equal(response.statusCode, 400, response.body)
    return response.json<{ dettagli: { campo: string }[] }>().dettagli.map(({ campo }) => campo)
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

t.test('without a mail server a request is answered with a 503, and no mail is stored', async (t) => {
  const { app, post } = await sender(t, undefined)
  t.match((await post()).json(), { status: 503, codice: 'POSTA_NON_CONFIGURATA' })
  t.same(await app.db.select().from(mails), [])
})

t.test('a mail that cannot be audited is not sent, and the audit entry names no recipient', async (t) => {
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

t.test('mails are listed by id. Unknown ids are left out, and invalid ones are refused', async (t) => {
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

/** HTML whose dangerous parts must be removed. Each text contains `visibile`. */
const HOSTILE = [
  '<script>alert(1)</script>', '<scr<script>ipt>alert(1)</scr</script>ipt>', '<SCRIPT SRC=//x.example/x.js></SCRIPT>',
  '<img src=x onerror=alert(1)>', '<img src="https://a.example/a.png" onerror="alert(1)" alt="a">',
  '<svg onload=alert(1)><script>1</script></svg>', '<svg><a xlink:href="javascript:1">x</a></svg>',
  '<math href="javascript:1">x</math>', '<iframe src="https://x.example"></iframe>', '<iframe srcdoc="<script>1">',
  '<object data="data:text/html,x"></object>', '<embed src="https://x.example/x.swf">', '<base href="https://x.example">',
  '<meta http-equiv="refresh" content="0;url=https://x.example">', '<link rel="stylesheet" href="https://x.example/c">',
  '<style>@import "https://x.example/c"; p{background:url(https://x.example)}</style>',
  '<form action="https://x.example"><input name="password"><button>x</button></form>', '<textarea><script>1</textarea>',
  '<a href="javascript:alert(1)">x</a>', '<a href="JaVaScRiPt:alert(1)">x</a>', '<a href=" javascript:1">x</a>',
  '<a href="java\tscript:1">x</a>', '<a href="&#106;avascript:1">x</a>', '<a href="data:text/html,x">x</a>',
  '<a href="vbscript:1">x</a>', '<a href="file:///etc/passwd">x</a>', '<a href="//x.example">x</a>',
  '<a href="/relativo">x</a>', '<img src="data:image/svg+xml,x">', '<img src="http://x.example/t.gif">',
  '<img src="cid:x">', '<p style="background:url(https://x.example/t)">x</p>', '<p style="position:fixed;top:0">x</p>',
  '<p style="width:expression(alert(1))">x</p>', '<p style="behavior:url(#x)">x</p>',
  '<p style="color:red;background-image:url(javascript:1)">x</p>', '<p style="font-family:url(https://x.example)">x</p>',
  '<div onclick="alert(1)" onmouseover=alert(1)>x</div>', '<table background="https://x.example/t"><tr><td>x</table>',
  '<video src="https://x.example"></video>', '<audio src="https://x.example"></audio>', '<noscript><p title="</noscript>' +
    '<img src=x onerror=alert(1)>"></noscript>', '<!--[if mso]><script>1</script><![endif]-->', '<![CDATA[<script>1]]>',
  '<template><script>1</script></template>', '<a href="https://a.example" ping="https://x.example">x</a>',
  '<img srcset="https://x.example/x 1x" src="https://a.example/a.png" alt="a">', '<body onload=alert(1)>',
  '<input autofocus onfocus=alert(1)>', '<details ontoggle=alert(1) open>x</details>', '<x-y onclick=1>x</x-y>'
]

const ELEMENTS =
  /<\/?(?!(?:a|abbr|b|br|div|em|h\d|i|img|li|ol|p|span|strong|table|tbody|td|th|tr|ul)\b)[a-z!?]/i

const DANGEROUS = /\son\w+\s*=|javascript:|vbscript:|data:|file:|cid:|x\.example|url\(|expression|position|srcset|ping=/i

t.test('only text, harmless elements and plain addresses of hostile HTML reach a recipient', async (t) => {
  t.ok(HOSTILE.length >= 50)
  for (const html of HOSTILE) {
    const arrived = arriving()
    await send({ body: `<p>visibile</p>${html}` })
    await until(() => arrived().length > 0)
    const [mail] = arrived() as [Received]
    t.match(mail.html, /^<p>visibile<\/p>/, html)
    t.match(mail.text, /^visibile/)
    const tags = (mail.html.match(/<[^>]*>/g) ?? []).join('')
    t.notMatch(tags, ELEMENTS, html)
    t.notMatch(tags, DANGEROUS, html)
    t.notMatch(mail.text, /<script|javascript:/i, html)
    t.notMatch(mail.raw, /\0|\r(?!\n)|(?<!\r)\n/)
  }
})

t.test('harmless HTML is unchanged', async (t) => {
  for (const html of [
    '<p style="color:#333;text-align:center;padding:0 4px">a <b>b</b> <em>c</em></p>',
    '<a href="https://a.example/?a=1&amp;b=2">a</a> <a href="mailto:casa@locanda.example">b</a>',
    '<img src="https://a.example/logo.png" alt="Logo" width="80" />',
    '<table width="600" cellpadding="0"><tbody><tr><td colspan="2" align="right">a</td></tr></tbody></table>'
  ]) {
    const arrived = arriving()
    await send({ body: html })
    await until(() => arrived().length > 0)
    t.equal(arrived()[0]!.html, html)
  }
})

/** Ten seconds, plus the delay of a busy machine. */
const IN_TIME_MS = 25_000

const RECIPIENTS = ['ada@ospiti.example', 'bruno@ospiti.example']

t.test('with a slow mail server the response comes after ten seconds, and its reply is shown later', async (t) => {
  const answered = Promise.withResolvers<void>()
  const smtp = await startSmtp(t, { decide: () => answered.promise })
  const { app, send, follow } = await sender(t, smtp)
  const response = await send({ recipients: RECIPIENTS })
  t.ok(response.ms > 9000 && response.ms < IN_TIME_MS, String(response.ms))
  t.match(response, {
    success: true,
    accepted: [],
    rejected: [],
    message: /^2 e-mail in coda/,
    recipients: RECIPIENTS.map((recipient) => ({ recipient, stato: 'in_coda', risposta: null, spiegazione: /coda/ }))
  })
  answered.resolve()
  const ids = response.recipients.map(({ id }) => id)
  for (const id of ids) await over(app, id)
  t.match(await follow(ids), ids.map(() => ({ stato: 'inviata', risposta: '250', tentativi: 1 })))
  t.same(smtp.mails.map(({ envelope }) => envelope.to), RECIPIENTS.map((to) => [to]))
})
