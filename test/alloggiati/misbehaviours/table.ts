import { gzipSync } from 'node:zlib'
import type { State } from '#schemas/submission.ts'
import { envelope } from '#test/alloggiati/service/soap/xml.ts'
import { answer, respond, type Behaviour } from '#test/alloggiati/service/soap/server.ts'
import { good, refusalReply, rowsReply } from '#test/alloggiati/stand-in.ts'

/* Everything that a police service can do wrong, what it has acquired then, and what must be concluded from it. */

export interface Misbehaviour {
  name: string
  /** Of the rows of a Send. */
  acquires: 'all' | 'none' | 'first'
  /**
   * What must be concluded of a Send: more than one where it depends on which of two things is seen first. All are true
   * of it.
   */
  verdict: readonly State[]
  /**
   * When it goes wrong: nobody listens · at the connection · at the first bytes of the request · when the request is
   * whole (the usual).
   */
  when?: 'refused' | 'connected' | 'first-byte'
  /** It makes the client wait until its time is over. */
  slow?: boolean
  /** It is about the rows: a login has none. */
  rows?: boolean
  /** What happens to the socket, for an operation on so many rows. */
  act: (operation: string, rows: number) => Behaviour
}

const UNKNOWN: readonly State[] = ['sconosciuto']
const NOT_SENT: readonly State[] = ['non_inviato']
const EITHER: readonly State[] = ['non_inviato', 'sconosciuto']
const ACQUIRED: readonly State[] = ['acquisito']

const HTML = 'Content-Type: text/html'
const XML = 'Content-Type: application/soap+xml; charset=utf-8'
const page = '<html><body>Manutenzione in corso</body></html>'

const reset: Behaviour = (socket) => socket.resetAndDestroy()
const close: Behaviour = (socket) => socket.end()
const nothing: Behaviour = () => {}
const raw = (text: string | Buffer): Behaviour => (socket) => socket.end(text)
const all = (rows: number) => Array.from({ length: rows }, () => true)
const fine = (operation: string, rows: number) => good({ operation, rows: Array.from({ length: rows }, () => '') })
const bodyOf =
  (change: (body: string) => string | Buffer, ...headers: string[]) =>
    (operation: string, rows: number): Behaviour =>
      respond('200 OK', change(fine(operation, rows)), ...(headers.length > 0 ? headers : [XML]))
const status = (line: string, body = '', ...headers: string[]) => () => respond(line, body, ...headers)
const outcomes =
  (change: (rows: number) => [outcomes: boolean[], valid?: number]) => (operation: string, rows: number) =>
    answer(rowsReply(operation, ...change(rows)))
const refusal = (name: string) => (operation: string) => answer(refusalReply(operation, name))

const fault12 = (code: string) => envelope(`<s:Fault><s:Code><s:Value>s:${code}</s:Value></s:Code>` +
  '<s:Reason><s:Text xml:lang="it">non riuscito</s:Text></s:Reason></s:Fault>')
const fault11 = (code: string) =>
  '<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body><soap:Fault>' +
  `<faultcode>soap:${code}</faultcode><faultstring>non riuscito</faultstring></soap:Fault></soap:Body></soap:Envelope>`
const fault = (text: string) => status('500 Internal Server Error', text, XML)

/** The good reply, a character at a time. */
function dripping (pause: number, text: (operation: string, rows: number) => string): Misbehaviour['act'] {
  return (operation, rows) => (socket) => {
    const body = text(operation, rows)
    const bytes = [
      `HTTP/1.1 200 OK\r\n${XML}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n`,
      ...body
    ]
    const timer = setInterval(() => { bytes.length > 0 ? socket.write(bytes.shift()!) : socket.end() }, pause)
    socket.once('close', () => clearInterval(timer))
  }
}

/** A chunk for every character. */
function chunked (body: string): string {
  const chunks = [...body].map((each) => `${Buffer.byteLength(each).toString(16)}\r\n${each}\r\n`)
  const head = `HTTP/1.1 200 OK\r\n${XML}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`
  return `${head}${chunks.join('')}0\r\n\r\n`
}

function whole (body: string): string {
  return `HTTP/1.1 200 OK\r\n${XML}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

const cut = (body: string, sent: number) =>
  `HTTP/1.1 200 OK\r\n${XML}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, sent)}`
const late = (operation: string, rows: number): Behaviour => (socket, received) => {
  setTimeout(() => answer(fine(operation, rows))(socket, received), 10_000).unref()
}
const accented = (body: string) =>
  body
    .replace('<ErroreDettaglio/>', '<ErroreDettaglio>già verificato</ErroreDettaglio>')
    .replace('<esito>true</esito></result>', '<esito>true</esito><ErroreDes>già verificato</ErroreDes></result>')

export const MISBEHAVIOURS: readonly Misbehaviour[] = [
  // Before there is a request.
  { name: 'refuses the connection', acquires: 'none', verdict: NOT_SENT, when: 'refused', act: () => nothing },
  { name: 'accepts and closes', acquires: 'none', verdict: EITHER, when: 'connected', act: () => close },
  { name: 'accepts and resets', acquires: 'none', verdict: EITHER, when: 'connected', act: () => reset },
  {
    name: 'greets like a mail server',
    acquires: 'none',
    verdict: EITHER,
    when: 'connected',
    act: () => raw('220 mail.example.com ESMTP\r\n')
  },
  {
    name: 'greets with bytes of TLS',
    acquires: 'none',
    verdict: EITHER,
    when: 'connected',
    act: () => raw(Buffer.from('15030100020228', 'hex'))
  },
  // In the middle of it.
  { name: 'resets at the first bytes', acquires: 'none', verdict: UNKNOWN, when: 'first-byte', act: () => reset },
  {
    name: 'finds it too large at the first bytes',
    acquires: 'none',
    verdict: EITHER,
    when: 'first-byte',
    act: status('413 Content Too Large')
  },
  {
    name: 'has an accident at the first bytes',
    acquires: 'none',
    verdict: UNKNOWN,
    when: 'first-byte',
    act: status('500 Internal Server Error', page, HTML)
  },
  // No reply, or half of one.
  { name: 'resets before it acquires', acquires: 'none', verdict: UNKNOWN, act: () => reset },
  { name: 'resets after it has acquired', acquires: 'all', verdict: UNKNOWN, act: () => reset },
  { name: 'closes without a word', acquires: 'all', verdict: UNKNOWN, act: () => close },
  { name: 'cuts the headline', acquires: 'all', verdict: UNKNOWN, act: () => raw('HTTP/1.1 200 OK\r\nContent-Le') },
  {
    name: 'cuts the reply',
    acquires: 'all',
    verdict: UNKNOWN,
    act: (operation, rows) => raw(cut(fine(operation, rows), -100))
  },
  {
    name: 'cuts the reply by one byte',
    acquires: 'all',
    verdict: UNKNOWN,
    act: (operation, rows) => raw(cut(fine(operation, rows), -1))
  },
  { name: 'replies with bytes that are not HTTP', acquires: 'all', verdict: UNKNOWN, act: () => raw('grazie\r\n\r\n') },
  { name: 'hangs before it acquires', acquires: 'none', verdict: UNKNOWN, slow: true, act: () => nothing },
  { name: 'hangs after it has acquired', acquires: 'all', verdict: UNKNOWN, slow: true, act: () => nothing },
  { name: 'replies too late', acquires: 'all', verdict: UNKNOWN, slow: true, act: late },
  { name: 'trickles', acquires: 'all', verdict: UNKNOWN, slow: true, act: dripping(50, fine) },
  // A reply that somebody else gave.
  { name: 'replies 404', acquires: 'none', verdict: NOT_SENT, act: status('404 Not Found', page, HTML) },
  { name: 'replies 405', acquires: 'none', verdict: NOT_SENT, act: status('405 Method Not Allowed') },
  { name: 'replies 413', acquires: 'none', verdict: NOT_SENT, act: status('413 Content Too Large') },
  { name: 'replies 415', acquires: 'none', verdict: NOT_SENT, act: status('415 Unsupported Media Type') },
  { name: 'replies 400', acquires: 'none', verdict: UNKNOWN, act: status('400 Bad Request') },
  {
    name: 'replies 401',
    acquires: 'none',
    verdict: UNKNOWN,
    act: status('401 Unauthorized', '', 'WWW-Authenticate: Negotiate')
  },
  { name: 'replies 403', acquires: 'none', verdict: UNKNOWN, act: status('403 Forbidden', page, HTML) },
  { name: 'replies 408', acquires: 'none', verdict: UNKNOWN, act: status('408 Request Timeout') },
  {
    name: 'replies 429',
    acquires: 'none',
    verdict: UNKNOWN,
    act: status('429 Too Many Requests', '', 'Retry-After: 1')
  },
  {
    name: 'replies HTML with status 500',
    acquires: 'all',
    verdict: UNKNOWN,
    act: status('500 Internal Server Error', page, HTML)
  },
  { name: 'replies an empty 502', acquires: 'all', verdict: UNKNOWN, act: status('502 Bad Gateway') },
  {
    name: 'replies 503 through a proxy',
    acquires: 'all',
    verdict: UNKNOWN,
    act: status('503 Service Unavailable', 'sovraccarico', 'Retry-After: 1')
  },
  { name: 'replies 504 through a proxy', acquires: 'all', verdict: UNKNOWN, act: status('504 Gateway Timeout') },
  {
    name: 'redirects',
    acquires: 'all',
    verdict: UNKNOWN,
    act: status('307 Temporary Redirect', '', 'Location: http://127.0.0.1:9/')
  },
  { name: 'replies HTML with status 200', acquires: 'all', verdict: UNKNOWN, act: status('200 OK', page, HTML) },
  { name: 'replies an empty 200', acquires: 'all', verdict: UNKNOWN, act: status('200 OK', '', XML) },
  { name: 'replies 204', acquires: 'all', verdict: UNKNOWN, act: status('204 No Content') },
  {
    name: 'replies 200 with a good body and status 500',
    acquires: 'all',
    verdict: UNKNOWN,
    act: (operation, rows) => respond('500 Oops', fine(operation, rows), XML)
  },
  // A fault.
  { name: 'has a fault 1.2 of the server', acquires: 'all', verdict: UNKNOWN, act: fault(fault12('Receiver')) },
  { name: 'has a fault 1.2 of the client', acquires: 'none', verdict: UNKNOWN, act: fault(fault12('Sender')) },
  { name: 'has a fault 1.1 of the server', acquires: 'all', verdict: UNKNOWN, act: fault(fault11('Server')) },
  { name: 'has a fault 1.1 of the client', acquires: 'none', verdict: UNKNOWN, act: fault(fault11('Client')) },
  {
    name: 'has a fault with a status that never reaches the service',
    acquires: 'all',
    verdict: UNKNOWN,
    act: status('404 Not Found', fault12('Receiver'), XML)
  },
  // A reply that is not what it seems.
  {
    name: 'replies malformed XML',
    acquires: 'all',
    verdict: UNKNOWN,
    act: bodyOf((body) => body.replace(/<\/\w+Response>/, ''))
  },
  {
    name: 'replies with a DOCTYPE',
    acquires: 'all',
    verdict: UNKNOWN,
    act: bodyOf((body) => body.replace('?>', '?><!DOCTYPE x [<!ENTITY y "z">]>'))
  },
  {
    name: "replies another operation's element",
    acquires: 'all',
    verdict: UNKNOWN,
    act: () => answer(fine('Tabella', 0))
  },
  {
    name: 'replies the element of the operation beside',
    acquires: 'all',
    verdict: UNKNOWN,
    act: (operation, rows) => answer(fine(operation === 'Send' ? 'Test' : 'Send', rows))
  },
  {
    name: 'replies without a namespace',
    acquires: 'all',
    verdict: UNKNOWN,
    act: bodyOf((body) => body.replace(' xmlns="AlloggiatiService"', ''))
  },
  {
    name: 'replies hugely',
    acquires: 'all',
    verdict: UNKNOWN,
    act: bodyOf((body) => `${body}${' '.repeat(21 * 1024 * 1024)}`)
  },
  {
    name: 'replies compressed',
    acquires: 'all',
    verdict: UNKNOWN,
    act: bodyOf((body) => gzipSync(body), XML, 'Content-Encoding: gzip')
  },
  {
    name: 'replies ISO-8859-1 and calls it UTF-8',
    acquires: 'all',
    verdict: UNKNOWN,
    act: bodyOf((body) => Buffer.from(accented(body), 'latin1'))
  },
  {
    name: 'spells a boolean in its own way',
    acquires: 'all',
    verdict: UNKNOWN,
    act: bodyOf((body) => body.replaceAll('>true<', '>True<'))
  },
  {
    name: 'repeats an element',
    acquires: 'all',
    verdict: UNKNOWN,
    act: bodyOf((body) => body.replace('<esito>true</esito>', '<esito>true</esito><esito>true</esito>'))
  },
  // Outcomes that do not fit the rows.
  {
    name: 'counts more than it took',
    acquires: 'all',
    rows: true,
    verdict: UNKNOWN,
    act: outcomes((rows) => [all(rows), rows + 1])
  },
  { name: 'counts none', acquires: 'all', rows: true, verdict: UNKNOWN, act: outcomes((rows) => [all(rows), 0]) },
  {
    name: 'counts a refused row',
    acquires: 'first',
    rows: true,
    verdict: UNKNOWN,
    act: outcomes((rows) => [all(rows).fill(false, 1), rows])
  },
  {
    name: 'answers for fewer rows',
    acquires: 'all',
    rows: true,
    verdict: UNKNOWN,
    act: outcomes((rows) => [all(rows - 1)])
  },
  {
    name: 'answers for more rows',
    acquires: 'all',
    rows: true,
    verdict: UNKNOWN,
    act: outcomes((rows) => [all(rows + 1)])
  },
  {
    name: 'answers for no row',
    acquires: 'all',
    rows: true,
    verdict: UNKNOWN,
    act: (operation, rows) => answer(fine(operation, rows).replace(/<result>.*<\/result>/, ''))
  },
  {
    name: 'answers twice for every row',
    acquires: 'all',
    rows: true,
    verdict: UNKNOWN,
    act: (operation, rows) => answer(fine(operation, rows).replace(/<Dettaglio>.*<\/Dettaglio>/, '$&$&'))
  },
  // Refusals.
  { name: 'refuses the token', acquires: 'none', rows: true, verdict: NOT_SENT, act: refusal('TOKEN_NON_VALIDO') },
  { name: 'refuses an expired token', acquires: 'none', rows: true, verdict: NOT_SENT, act: refusal('TOKEN_SCADUTO') },
  {
    name: 'refuses the account',
    acquires: 'none',
    rows: true,
    verdict: NOT_SENT,
    act: refusal('AUTENTICAZIONE_FALLITA')
  },
  {
    name: 'refuses a parameter',
    acquires: 'none',
    rows: true,
    verdict: NOT_SENT,
    act: refusal('ERRORE_PARAMETRO_ERRATO')
  },
  {
    name: 'refuses for a reason of its own',
    acquires: 'all',
    rows: true,
    verdict: UNKNOWN,
    act: refusal('ERRORE_GENERICO')
  },
  {
    name: 'refuses the token beside rows that it took',
    acquires: 'all',
    rows: true,
    verdict: UNKNOWN,
    act: (operation, rows) =>
      answer(
        fine(operation, rows).replace(
          '<esito>true</esito><ErroreCod/><ErroreDes/>',
          '<esito>false</esito><ErroreCod/><ErroreDes>TOKEN_NON_VALIDO</ErroreDes>'
        )
      )
  },
  {
    name: 'refuses every row',
    acquires: 'none',
    rows: true,
    verdict: ['rifiutato'],
    act: outcomes((rows) => [all(rows).fill(false)])
  },
  {
    name: 'refuses one row',
    acquires: 'first',
    rows: true,
    verdict: ['parziale'],
    act: outcomes((rows) => [all(rows).fill(false, 1)])
  },
  // Odd, and right all the same.
  {
    name: 'replies ISO-8859-1',
    acquires: 'all',
    verdict: ACQUIRED,
    act: bodyOf((body) => Buffer.from(accented(body), 'latin1'), 'Content-Type: text/xml; charset=iso-8859-1')
  },
  {
    name: 'replies with a byte order mark',
    acquires: 'all',
    verdict: ACQUIRED,
    act: bodyOf((body) => `\ufeff${body}`)
  },
  {
    name: 'replies in chunks of one byte',
    acquires: 'all',
    verdict: ACQUIRED,
    act: (operation, rows) => raw(chunked(fine(operation, rows)))
  },
  {
    name: 'asks to go on before it replies',
    acquires: 'all',
    verdict: ACQUIRED,
    act: (operation, rows) => raw(`HTTP/1.1 100 Continue\r\n\r\n${whole(fine(operation, rows))}`)
  },
  {
    name: 'replies twice',
    acquires: 'all',
    verdict: ACQUIRED,
    act: (operation, rows) => raw(whole(fine(operation, rows)).repeat(2))
  },
  {
    name: 'says 1 for true',
    acquires: 'all',
    verdict: ACQUIRED,
    act: bodyOf((body) => body.replaceAll('>true<', '>1<'))
  },
  { name: 'is slow of speech', acquires: 'all', verdict: ACQUIRED, act: dripping(1, fine) }
]
