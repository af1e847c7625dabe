import { hash, randomBytes } from 'node:crypto'
import { on, once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { html } from '#src/lib/html.ts'
import { htmlPage, pagePolicy } from '#src/lib/page.ts'
import type { Context } from './command-context.ts'
import { CliError, EXIT } from './errors.ts'
import { askProvider, signedIn, type Provider, type SignIn } from './provider-session.ts'

/** By this name the server's own pages are asked for. */
const OWN_PAGES = 'custom:locanda'
/** How long a person may take. A code that the server has made lives no longer. */
const WITHIN_MS = 5 * 60_000

/**
 * Signs a person in with their browser, on the pages of the server, with all that they must prove there: the program
 * listens on this machine for the code that the browser comes back with (RFC 8252), and exchanges it (RFC 7636). It
 * sees neither password nor code of the person.
 * @throws CliError
 */
export async function signInByBrowser (context: Context, provider: Provider): Promise<SignIn> {
  const verifier = randomBytes(32).toString('base64url')
  // Known to this sign-in alone: another page of the browser cannot disturb it.
  const path = `/${randomBytes(16).toString('hex')}`
  const server = createServer()
  try {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const page = await pageFor(context, provider, {
      provider: OWN_PAGES,
      redirect_to: `http://127.0.0.1:${port}${path}`,
      code_challenge: hash('sha256', verifier, 'base64url'),
      code_challenge_method: 's256'
    })
    // As questions are: also where results are JSON.
    context.terminal.stderr.write(`Aprire nel browser di questo computer, e accedere:\n${page}\n`)
    const auth_code = await codeAt(server, path, context.terminal.timeoutMs ?? WITHIN_MS)
    const request = { query: { grant_type: 'pkce' }, body: { auth_code, code_verifier: verifier } }
    return signedIn(provider, await askProvider(context, provider, 'token', request))
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

/** The page of the server on which the person signs in. */
async function pageFor (context: Context, { url }: Provider, query: Record<string, string>): Promise<string> {
  const answer = await context.send(url, '/auth/v1/authorize', { query })
  const page = answer.headers.get('location')
  if (answer.status === 302 && page !== null && URL.canParse(page)) {
    const { pathname, searchParams } = new URL(page)
    if (pathname.endsWith('/auth/accedi') && searchParams.get('redirect_to') === query.redirect_to) return page
  }
  throw new CliError(
    EXIT.failed,
    'PAGINE_NON_DISPONIBILI',
    'Su questo server non si accede con il browser: eseguire il comando senza --browser'
  )
}

const STYLE = `:root { color-scheme: light dark; } body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto;
  max-width: 40rem; padding: 1rem; } h1 { font-size: 1.6rem; line-height: 1.2; }`

const HEADERS = {
  'content-type': 'text/html; charset=utf-8', 'content-security-policy': pagePolicy(STYLE), connection: 'close'
}

/** What the browser shows in the end. */
const RECEIVED = htmlPage({
  language: 'it',
  title: 'Ricevuto',
  style: STYLE,
  content: html`<main>
<h1>Ricevuto</h1>
<p>Si può chiudere questa pagina e tornare al terminale.</p>
</main>`
})

type Exchange = [request: IncomingMessage, response: ServerResponse]

/** The code that the browser brings to an address of this machine. */
async function codeAt (server: Server, path: string, withinMs: number): Promise<string> {
  const signal = AbortSignal.timeout(withinMs)
  try {
    for await (const [request, response] of on(server, 'request', { signal }) as AsyncIterable<Exchange>) {
      // Of this path alone: what others ask for need not even be an address.
      const { url = '' } = request
      const code = url.startsWith(`${path}?`) ? new URLSearchParams(url.slice(path.length)).get('code') : null
      response.writeHead(code === null ? 404 : 200, HEADERS).end(code === null ? '' : RECEIVED)
      await once(response, 'close')
      if (code !== null) return code
    }
    throw new Error('the server does not end by itself')
  } catch (err) {
    if (!signal.aborted) throw err
    throw new CliError(EXIT.credentials, 'NON_AUTENTICATO', 'Nel browser nessuno ha completato l’accesso in tempo')
  }
}
