import t from 'tap'
import { FROM } from '#test/plugins/mail/posting.ts'
import { replyCodes } from '#src/plugins/mail/reply.ts'
import { startSmtp } from '#test/smtp.ts'
import { EMAIL, sender } from './email-sender.ts'

/** HTML that must lose what makes it dangerous; each says `visibile`. */
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

t.test('of hostile HTML nothing but text, harmless elements and plain addresses reaches a recipient', async (t) => {
  const smtp = await startSmtp(t)
  const { send } = await sender(t, smtp)
  t.ok(HOSTILE.length >= 50)
  for (const html of HOSTILE) {
    await send({ body: `<p>visibile</p>${html}` })
    const mail = await smtp.next()
    t.match(mail.html, /^<p>visibile<\/p>/, html)
    t.match(mail.text, /^visibile/)
    const tags = (mail.html.match(/<[^>]*>/g) ?? []).join('')
    t.notMatch(tags, ELEMENTS, html)
    t.notMatch(tags, DANGEROUS, html)
    t.notMatch(mail.text, /<script|javascript:/i, html)
    t.notMatch(mail.raw, /\0|\r(?!\n)|(?<!\r)\n/)
  }
})

t.test('what belongs into a mail stays', async (t) => {
  const smtp = await startSmtp(t)
  const { send } = await sender(t, smtp)
  for (const html of [
    '<p style="color:#333;text-align:center;padding:0 4px">a <b>b</b> <em>c</em></p>',
    '<a href="https://a.example/?a=1&amp;b=2">a</a> <a href="mailto:casa@locanda.example">b</a>',
    '<img src="https://a.example/logo.png" alt="Logo" width="80" />',
    '<table width="600" cellpadding="0"><tbody><tr><td colspan="2" align="right">a</td></tr></tbody></table>'
  ]) {
    await send({ body: html })
    t.equal((await smtp.next()).html, html)
  }
})

const LINE_ENDS = ['\r\n', '\n', '\r', '\0', '\u2028', '\u2029', '\u0085', '\u000b', '\u001b']

t.test('no recipient, subject or body puts a header, a recipient or a sender into a mail', async (t) => {
  const smtp = await startSmtp(t)
  const { post } = await sender(t, smtp)
  const refused = [
    ...LINE_ENDS.flatMap((end) => [
      { recipients: [`ada@ospiti.example${end}Bcc: x@altrove.example`] },
      { subject: `Oggetto${end}Bcc: x@altrove.example` }
    ]),
    ...[
      'ada@ospiti.example(x)altrove.example', 'user@good.com(x)evil.com', 'Ada <ada@ospiti.example>',
      '"ada@altrove.example"@ospiti.example', 'ada@ospiti.example,x@altrove.example', 'gruppo:x@altrove.example;',
      'ada@ospiti.example>\r\nRCPT TO:<x@altrove.example', '=?utf-8?q?x=40altrove.example?=@ospiti.example',
      'ada@ospiti.example%0d%0aBcc:x', '<ada@ospiti.example>', 'ada@[127.0.0.1]', '@relay.example:ada@ospiti.example'
    ].map((recipient) => ({ recipients: [recipient] }))
  ]
  for (const email of refused) t.equal((await post(email)).statusCode, 400, encodeURIComponent(JSON.stringify(email)))
  t.equal(smtp.mails.length, 0)

  const inert = [
    { subject: '=?utf-8?Q?=0d=0aBcc:_x@altrove.example?=' },
    { subject: '=?utf-8?B?DQpCY2M6IHg=?=' },
    { subject: 'a%0d%0aBcc: x@altrove.example' },
    { body: '<p>a\r\nBcc: x@altrove.example\r\n.\r\nMAIL FROM:&lt;x@altrove.example&gt;\r\n</p>' },
    { body: '<p>--boundary\r\nContent-Type: text/html\r\n\r\nx</p>' },
    { body: '<a href="https://a.example/%0d%0aBcc:x">a</a>' }
  ]
  for (const email of inert) {
    t.equal((await post(email)).statusCode, 200)
    const { envelope, headers, subject, raw } = await smtp.next()
    t.same(envelope, { from: FROM, to: EMAIL.recipients })
    t.same(Object.keys(headers).sort(), ['content-type', 'date', 'from', 'message-id', 'mime-version', 'subject', 'to'])
    t.match(headers, { from: [`Locanda <${FROM}>`], to: EMAIL.recipients })
    t.equal(subject, email.subject ?? EMAIL.subject)
    t.notMatch(raw.slice(0, raw.indexOf('\r\n\r\n')), /^bcc/im)
  }
  t.equal(smtp.mails.length, inert.length)
})

t.test('of a reply the codes alone are kept', async (t) => {
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
