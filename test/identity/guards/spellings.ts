/** Other spellings of a request that a proxy or parser might treat as equal: its path, and extra headers. */
export interface Spelling { name: string, path (path: string): string, headers?: Record<string, string> }

const asItIs = (path: string) => path
const paths: Readonly<Record<string, (path: string) => string>> = {
  'as it is': asItIs,
  'a letter percent-encoded': (path) => path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  'all letters percent-encoded': (path) => path.replace(/[a-z]/gi, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  'encoded twice': (path) => path.replace(/[a-z]/, (letter) => `%25${letter.charCodeAt(0).toString(16)}`),
  'encoded slashes': (path) => '/' + path.slice(1).replaceAll('/', '%2f'),
  'doubled slashes': (path) => path.replaceAll('/', '//'),
  'a dot segment': (path) => `/.${path}`,
  'a way down and up': (path) => `/health/..${path}`,
  'an encoded way down and up': (path) => `/docs/%2e%2e${path}`,
  'from a public page': (path) => `/docs/static/..%2f..${path}`,
  'from a public route of the provider': (path) => `/auth/v1/health/..%2f..%2f..${path}`,
  'a path parameter': (path) => `${path};a=b`,
  'a path parameter inside': (path) => path.replace(/^\/\w+/, (first) => `${first};x`),
  'a trailing slash': (path) => `${path}/`,
  'a trailing dot': (path) => `${path}.`,
  'upper case': (path) => path.toUpperCase(),
  'a NUL': (path) => `${path}%00`,
  'a backslash': (path) => path.replaceAll('/', '\\').replace('\\', '/'),
  'a query': (path) => `${path}?x=1`,
  'a query with another path': (path) => `${path}?/health/live`,
  'a fragment': (path) => `${path}#/health/live`,
  'absolute form': (path) => `http://localhost${path}`,
  'absolute form, other host': (path) => `http://127.0.0.1:1${path}`,
  'absolute form with user': (path) => `http://admin:admin@localhost${path}`
}
const headers: readonly Record<string, string>[] = [
  { 'x-http-method-override': 'GET' },
  { 'x-original-url': '/health/live' },
  { 'x-rewrite-url': '/health/live' },
  { 'x-forwarded-for': '127.0.0.1' },
  { 'x-forwarded-user': 'admin', 'x-user': 'admin' }
]

export const SPELLINGS: readonly Spelling[] = [
  ...Object.entries(paths).map(([name, path]) => ({ name, path })),
  ...headers.map((each) => ({ name: `with ${Object.keys(each).join()}`, path: asItIs, headers: each }))
]
