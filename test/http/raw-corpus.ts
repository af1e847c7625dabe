/*
 * Raw bytes that ordinary HTTP clients do not send. Proxies and servers parse some of them differently (RFC 9112,
 * sections 2 to 9), as in request smuggling (CL.TE, TE.CL, TE.TE). Others trigger known parser bugs.
 */

export interface RawCase {
  name: string
  bytes: string
  /** Allowed statuses of each response. Empty when the connection closes without a response. */
  responses: readonly number[][]
}

const HOST = 'Host: localhost\r\n'
const CLOSE = 'Connection: close\r\n'
const HEAD = `${HOST}${CLOSE}`
const get = (path: string, headers = HEAD) => `GET ${path} HTTP/1.1\r\n${headers}\r\n`
const post = (headers: string, body: string) =>
  `POST /auth/v1/token?grant_type=password HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\n${headers}\r\n${body}`

const REFUSED = [[400]]
const LIVE = '/health/live'
const NEXT = get(LIVE)

/** Each case uses a new connection. A smuggled request would cause an extra response. */
export const RAW_CASES: readonly RawCase[] = [
  { name: 'two lengths', bytes: post('Content-Length: 2\r\nContent-Length: 60\r\n', `{}${NEXT}`), responses: REFUSED },
  { name: 'a list of lengths', bytes: post('Content-Length: 2, 2\r\n', '{}'), responses: REFUSED },
  { name: 'a length with a sign', bytes: post('Content-Length: +2\r\n', '{}'), responses: REFUSED },
  { name: 'a negative length', bytes: post('Content-Length: -1\r\n', ''), responses: REFUSED },
  { name: 'a length in hexadecimal', bytes: post('Content-Length: 0x2\r\n', '{}'), responses: REFUSED },
  { name: 'a length that overflows', bytes: post(`Content-Length: ${'9'.repeat(30)}\r\n`, ''), responses: REFUSED },
  {
    name: 'a length and chunks',
    bytes: post('Content-Length: 6\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${NEXT}`),
    responses: REFUSED
  },
  {
    name: 'chunks and a length',
    bytes: post('Transfer-Encoding: chunked\r\nContent-Length: 6\r\n', `0\r\n\r\n${NEXT}`),
    responses: REFUSED
  },
  {
    name: 'a coding after chunked',
    bytes: post('Transfer-Encoding: chunked, identity\r\n', `0\r\n\r\n${NEXT}`),
    responses: REFUSED
  },
  { name: 'a misspelt coding', bytes: post('Transfer-Encoding: xchunked\r\n', `0\r\n\r\n${NEXT}`), responses: REFUSED },
  {
    name: 'two Transfer-Encodings',
    bytes: post('Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n', `0\r\n\r\n${NEXT}`),
    responses: REFUSED
  },
  { name: 'a blank before the colon', bytes: post('Transfer-Encoding : chunked\r\n', '0\r\n\r\n'), responses: REFUSED },
  { name: 'a folded header', bytes: get(LIVE, `${HOST}X-A: a\r\n b\r\n${CLOSE}`), responses: REFUSED },
  {
    name: 'an endless chunk size',
    bytes: post('Transfer-Encoding: chunked\r\n', 'f'.repeat(40)),
    responses: REFUSED
  },
  { name: 'an invalid chunk size', bytes: post('Transfer-Encoding: chunked\r\n', 'zz\r\n'), responses: REFUSED },
  {
    name: 'a chunk that is too long',
    bytes: post('Transfer-Encoding: chunked\r\n', '2\r\n{}}\r\n0\r\n\r\n'),
    responses: REFUSED
  },
  {
    name: 'an endless chunk extension',
    bytes: post('Transfer-Encoding: chunked\r\n', `1;${'a'.repeat(40_000)}\r\n{\r\n`),
    responses: [[400, 413]]
  },
  { name: 'headers that end with LF alone', bytes: `GET ${LIVE} HTTP/1.1\nHost: localhost\n\n`, responses: REFUSED },
  { name: 'a NUL in a header', bytes: get(LIVE, `${HEAD}X-A: a\0b\r\n`), responses: REFUSED },
  { name: 'a CR in a header', bytes: get(LIVE, `${HEAD}X-A: a\rb\r\n`), responses: REFUSED },
  { name: 'a header without a name', bytes: get(LIVE, `${HEAD}: x\r\n`), responses: REFUSED },
  { name: 'a header without a colon', bytes: get(LIVE, `${HEAD}X-A\r\n`), responses: REFUSED },
  { name: 'no host', bytes: get(LIVE, CLOSE), responses: REFUSED },
  { name: 'two hosts', bytes: get(LIVE, `Host: a\r\nHost: b\r\n${CLOSE}`), responses: REFUSED },
  { name: 'no version', bytes: `GET ${LIVE}\r\n\r\n`, responses: [[200, 400]] },
  { name: 'another version', bytes: `GET ${LIVE} HTTP/3.0\r\n${HEAD}\r\n`, responses: REFUSED },
  { name: 'an invalid version', bytes: `GET ${LIVE} HTTP/1.x\r\n${HEAD}\r\n`, responses: REFUSED },
  { name: 'the preface of HTTP/2', bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', responses: REFUSED },
  { name: 'TLS', bytes: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', responses: REFUSED },
  { name: 'another protocol', bytes: 'EHLO localhost\r\n', responses: REFUSED },
  { name: 'an invalid method', bytes: `G\u00c8T ${LIVE} HTTP/1.1\r\n${HEAD}\r\n`, responses: REFUSED },
  { name: 'a long method', bytes: `${'A'.repeat(10_000)} ${LIVE} HTTP/1.1\r\n${HEAD}\r\n`, responses: REFUSED },
  { name: 'TRACE', bytes: `TRACE ${LIVE} HTTP/1.1\r\n${HEAD}\r\n`, responses: [[400, 404, 405, 501]] },
  { name: 'CONNECT', bytes: `CONNECT localhost:22 HTTP/1.1\r\n${HEAD}\r\n`, responses: [] },
  { name: 'a target with a blank', bytes: get('/health live'), responses: REFUSED },
  { name: 'a target with a NUL', bytes: get('/health\0/live'), responses: REFUSED },
  { name: 'a target in Latin-1', bytes: get('/\u00e8'), responses: [[400, 401, 404]] },
  {
    name: 'an absolute URL as target',
    bytes: get('http://other.example/api/v1/audit'),
    responses: [[400, 401, 404]]
  },
  {
    name: 'a star as target',
    bytes: `OPTIONS * HTTP/1.1\r\n${HEAD}\r\n`,
    responses: [[200, 204, 400, 401, 404, 405]]
  },
  { name: 'a target of many dots', bytes: get(`/${'../'.repeat(2000)}etc/passwd`), responses: [[400, 401, 404, 414]] },
  { name: 'a long target', bytes: get(`/${'a'.repeat(15_000)}`), responses: [[401, 404, 414, 431]] },
  { name: 'a longer target', bytes: get(`/${'a'.repeat(100_000)}`), responses: [[414, 431]] },
  { name: 'a large header', bytes: get(LIVE, `${HEAD}X-A: ${'a'.repeat(100_000)}\r\n`), responses: [[431]] },
  { name: 'many headers', bytes: get(LIVE, HEAD + 'X-A: a\r\n'.repeat(3000)), responses: [[200, 431]] },
  {
    name: 'an upgrade',
    bytes: get(LIVE, `${HOST}Connection: Upgrade, close\r\nUpgrade: websocket\r\n`),
    responses: [[200]]
  },
  {
    name: 'an upgrade to HTTP/2',
    bytes: get(LIVE, `${HOST}Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n`),
    responses: [[200]]
  },
  {
    name: 'an unknown Expect value',
    bytes: post('Expect: 200-maybe\r\nContent-Length: 2\r\n', '{}'),
    responses: REFUSED
  },
  {
    name: 'a body of a GET',
    bytes: get(LIVE, `${HOST}Content-Length: ${NEXT.length}\r\n${CLOSE}`) + NEXT,
    responses: [[200, 400]]
  },
  { name: 'two requests at once', bytes: get(LIVE, HOST) + NEXT, responses: [[200], [200]] },
  {
    name: 'eight requests at once',
    bytes: get(LIVE, HOST).repeat(7) + NEXT,
    responses: Array.from({ length: 8 }, () => [200])
  },
  // More pipelined requests than allowed: the server closes the connection.
  { name: 'a hundred requests at once', bytes: get(LIVE, HOST).repeat(99) + NEXT, responses: [] },
  { name: 'a request, then garbage', bytes: get(LIVE, HOST) + 'x'.repeat(100) + '\r\n\r\n', responses: REFUSED },
  {
    name: 'a body shorter than its length',
    bytes: post('Content-Length: 100\r\n', '{"email":'),
    responses: REFUSED
  },
  { name: 'empty lines', bytes: '\r\n'.repeat(50) + NEXT, responses: [[200, 400]] },
  {
    name: 'oversized credentials',
    bytes: get('/api/sessions', `${HEAD}Authorization: Bearer ${'a.'.repeat(6000)}\r\n`),
    responses: [[401, 431]]
  },
  {
    name: 'two credentials',
    bytes: get('/api/sessions', `${HEAD}X-API-Key: a\r\nX-API-Key: b\r\n`),
    responses: [[400, 401]]
  },
  {
    name: 'a cookie with only semicolons',
    bytes: get(LIVE, `${HEAD}Cookie: ${';'.repeat(8000)}\r\n`),
    responses: [[200]]
  }
]
