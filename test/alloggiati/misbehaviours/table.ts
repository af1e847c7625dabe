import { gzipSync } from 'node:zlib'
import type { State } from '#schemas/submission.ts'
import { envelope } from '#test/alloggiati/service/soap/xml.ts'
import { response, respond, type Behaviour } from '#test/alloggiati/service/soap/server.ts'
import { successReply, refusalReply, rowsReply } from '#test/alloggiati/stand-in.ts'

/* The misbehaviours of a police service, the rows that it acquires nevertheless, and the expected verdicts. */

export interface Misbehaviour {
  name: string
  /** The rows of a Send that the police acquires. */
  acquires: 'all' | 'none' | 'first'
  /** The allowed states after a Send. Several are allowed when two events may happen in either order. */
  verdict: readonly State[]
  /**
   * The time of the misbehaviour: the port is closed, at the connection, at the first bytes of the request, or when the
   * request is complete (default).
   */
  when?: 'refused' | 'connected' | 'first-byte'
  /** Whether the client waits until it times out. */
  slow?: boolean
  /** Whether the misbehaviour concerns rows. A login has none. */
  rows?: boolean
  /** Makes the behaviour for an operation with this number of rows. */
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
const success = (operation: string, rows: number) =>
  successReply({ operation, rows: Array.from({ length: rows }, () => '') })
const bodyOf =
  (change: (body: string) => string | Buffer, ...headers: string[]) =>
    (operation: string, rows: number): Behaviour =>
      respond('200 OK', change(success(operation, rows)), ...(headers.length > 0 ? headers : [XML]))
const status = (line: string, body = '', ...headers: string[]) => () => respond(line, body, ...headers)
const outcomes =
  (change: (rows: number) => [outcomes: boolean[], valid?: number]) => (operation: string, rows: number) =>
    response(rowsReply(operation, ...change(rows)))
const refusal = (name: string) => (operation: string) => response(refusalReply(operation, name))

const fault12 = (code: string) => envelope(`<s:Fault><s:Code><s:Value>s:${code}</s:Value></s:Code>` +
  '<s:Reason><s:Text xml:lang="it">non riuscito</s:Text></s:Reason></s:Fault>')
const fault11 = (code: string) =>
  '<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body><soap:Fault>' +
  `<faultcode>soap:${code}</faultcode><faultstring>non riuscito</faultstring></soap:Fault></soap:Body></soap:Envelope>`
const fault = (text: string) => status('500 Internal Server Error', text, XML)

/** Sends the successful reply one character at a time. */
function dripping (pause: number): Misbehaviour['act'] {
  return (operation, rows) => (socket) => {
    const body = success(operation, rows)
    const bytes = [
      `HTTP/1.1 200 OK\r\n${XML}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n`,
      ...body
    ]
    const timer = setInterval(() => { bytes.length > 0 ? socket.write(bytes.shift()!) : socket.end() }, pause)
    socket.once('close', () => clearInterval(timer))
  }
}

/** Sends one chunk for every character. */
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
  setTimeout(() => response(success(operation, rows))(socket, received), 10_000).unref()
}
const accented = (body: string) =>
  body
    .replace('<ErroreDettaglio/>', '<ErroreDettaglio>già verificato</ErroreDettaglio>')
    .replace('<esito>true</esito></result>', '<esito>true</esito><ErroreDes>già verificato</ErroreDes></result>')

export const MISBEHAVIOURS: readonly Misbehaviour[] = [
  ...group({ acquires: 'none', verdict: NOT_SENT, when: 'refused' }, { 'refuses the connection': () => nothing }),
  ...group({ acquires: 'none', verdict: EITHER, when: 'connected' }, {
    'accepts and closes': () => close,
    'greets like a mail server': () => raw('220 mail.example.com ESMTP\r\n')
  }),
  ...group({ acquires: 'none', verdict: UNKNOWN, when: 'first-byte' }, {
    'resets at the first bytes': () => reset
  }),
  ...group({ acquires: 'none', verdict: EITHER, when: 'first-byte' }, {
    'replies 413 at the first bytes': status('413 Content Too Large')
  }),
  ...group({ acquires: 'none', verdict: UNKNOWN }, {
    'resets before it acquires': () => reset,
    'replies 401': status('401 Unauthorized', '', 'WWW-Authenticate: Negotiate'),
    'replies 403': status('403 Forbidden', page, HTML),
    'replies 408': status('408 Request Timeout'),
    'replies 429': status('429 Too Many Requests', '', 'Retry-After: 1'),
    'replies a SOAP 1.2 client fault': fault(fault12('Sender')),
    'replies a SOAP 1.1 client fault': fault(fault11('Client'))
  }),
  ...group({ acquires: 'all', verdict: UNKNOWN }, {
    'resets after it has acquired': () => reset,
    'closes without a reply': () => close,
    'cuts the reply': (operation, rows) => raw(cut(success(operation, rows), -100)),
    'cuts the reply by one byte': (operation, rows) => raw(cut(success(operation, rows), -1)),
    'replies with bytes that are not HTTP': () => raw('grazie\r\n\r\n'),
    'replies HTML with status 500': status('500 Internal Server Error', page, HTML),
    'replies an empty 502': status('502 Bad Gateway'),
    'replies 503 through a proxy': status('503 Service Unavailable', 'sovraccarico', 'Retry-After: 1'),
    'replies 504 through a proxy': status('504 Gateway Timeout'),
    redirects: status('307 Temporary Redirect', '', 'Location: http://127.0.0.1:9/'),
    'replies HTML with status 200': status('200 OK', page, HTML),
    'replies an empty 200': status('200 OK', '', XML),
    'replies a success with status 500': (operation, rows) => respond('500 Oops', success(operation, rows), XML),
    'replies a SOAP 1.2 server fault': fault(fault12('Receiver')),
    'replies a SOAP 1.1 server fault': fault(fault11('Server')),
    'replies a SOAP fault with status 404': status('404 Not Found', fault12('Receiver'), XML),
    'replies malformed XML': bodyOf((body) => body.replace(/<\/\w+Response>/, '')),
    'replies with a DOCTYPE': bodyOf((body) => body.replace('?>', '?><!DOCTYPE x [<!ENTITY y "z">]>')),
    'replies to another operation': (operation, rows) =>
      response(success(operation === 'Send' ? 'Test' : 'Send', rows)),
    'replies without a namespace': bodyOf((body) => body.replace(' xmlns="AlloggiatiService"', '')),
    'replies with 21 MiB': bodyOf((body) => `${body}${' '.repeat(21 * 1024 * 1024)}`),
    'replies compressed': bodyOf((body) => gzipSync(body), XML, 'Content-Encoding: gzip'),
    'replies ISO-8859-1 and calls it UTF-8': bodyOf((body) => Buffer.from(accented(body), 'latin1')),
    'writes True for true': bodyOf((body) => body.replaceAll('>true<', '>True<'))
  }),
  ...group({ acquires: 'all', verdict: UNKNOWN, slow: true }, {
    'hangs after it has acquired': () => nothing, 'replies too late': late, trickles: dripping(50)
  }),
  ...group({ acquires: 'none', verdict: NOT_SENT }, { 'replies 404': status('404 Not Found', page, HTML) }),
  ...group({ acquires: 'all', verdict: UNKNOWN, rows: true }, {
    'counts more rows than it acquired': outcomes((rows) => [all(rows), rows + 1]),
    'counts no row': outcomes((rows) => [all(rows), 0]),
    'answers for fewer rows': outcomes((rows) => [all(rows - 1)]),
    'answers for more rows': outcomes((rows) => [all(rows + 1)]),
    'answers for no row': (operation, rows) => response(success(operation, rows).replace(/<result>.*<\/result>/, '')),
    'refuses with a general error': refusal('ERRORE_GENERICO'),
    'refuses the token, but lists acquired rows': (operation, rows) =>
      response(success(operation, rows).replace(
        '<esito>true</esito><ErroreCod/><ErroreDes/>',
        '<esito>false</esito><ErroreCod/><ErroreDes>TOKEN_NON_VALIDO</ErroreDes>'
      ))
  }),
  ...group({ acquires: 'first', verdict: UNKNOWN, rows: true }, {
    'counts a refused row': outcomes((rows) => [all(rows).fill(false, 1), rows])
  }),
  ...group({ acquires: 'none', verdict: NOT_SENT, rows: true }, {
    'refuses the token': refusal('TOKEN_NON_VALIDO'),
    'refuses an expired token': refusal('TOKEN_SCADUTO'),
    'refuses the account': refusal('AUTENTICAZIONE_FALLITA'),
    'refuses a parameter': refusal('ERRORE_PARAMETRO_ERRATO')
  }),
  ...group({ acquires: 'none', verdict: ['rifiutato'], rows: true }, {
    'refuses every row': outcomes((rows) => [all(rows).fill(false)])
  }),
  ...group({ acquires: 'first', verdict: ['parziale'], rows: true }, {
    'refuses one row': outcomes((rows) => [all(rows).fill(false, 1)])
  }),
  ...group({ acquires: 'all', verdict: ACQUIRED }, {
    'replies ISO-8859-1': bodyOf(
      (body) => Buffer.from(accented(body), 'latin1'), 'Content-Type: text/xml; charset=iso-8859-1'
    ),
    'replies with a byte order mark': bodyOf((body) => `\ufeff${body}`),
    'replies in chunks of one byte': (operation, rows) => raw(chunked(success(operation, rows))),
    'replies 100 Continue first': (operation, rows) =>
      raw(`HTTP/1.1 100 Continue\r\n\r\n${whole(success(operation, rows))}`),
    'writes 1 for true': bodyOf((body) => body.replaceAll('>true<', '>1<')),
    'replies slowly': dripping(1)
  })
]

/** Makes misbehaviours that differ only in name and `act`. */
function group (
  facts: Omit<Misbehaviour, 'name' | 'act'>, acts: Record<string, Misbehaviour['act']>
): Misbehaviour[] {
  return Object.entries(acts).map(([name, act]) => ({ name, act, ...facts }))
}
