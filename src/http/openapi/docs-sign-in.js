/* global btoa, crypto, document, fetch, history, location, PUBLIC_URL, sessionStorage, setTimeout, TextEncoder, URL,
   URLSearchParams, window */
// Adds a bar to the reference page, in which a person signs in through the pages of this server (PKCE). The access
// token stays in memory. This script is loaded before the page's own script, which starts Swagger UI.
{
  const VERIFIER = 'locanda-docs-verifier'
  const page = new URL(`${PUBLIC_URL}/docs`).href
  // Keeps the path prefix that a proxy adds.
  const base = location.pathname.replace(/\/docs\/?$/, '')

  const bar = document.createElement('div')
  bar.className = 'locanda-sign-in'
  const status = document.createElement('span')
  status.role = 'status'
  const button = document.createElement('button')
  button.type = 'button'
  bar.append(status, button)
  document.body.prepend(bar)

  let token
  let ui
  const { SwaggerUIBundle } = window
  window.SwaggerUIBundle = Object.assign((options) => (ui = SwaggerUIBundle({
    ...options,
    onComplete: () => token && ui.preauthorizeApiKey('bearer', token)
  })), SwaggerUIBundle)

  function show (text) {
    status.textContent = text
    button.textContent = token ? 'Uscire' : 'Accedere'
  }

  function forget (text) {
    token = undefined
    ui?.authActions.logout(['bearer'])
    show(text)
  }

  const base64url = (bytes) =>
    btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')

  async function startSignIn () {
    // The sign-in redirects back only to `PUBLIC_URL`.
    if (`${location.origin}${base}/docs` !== page) return location.assign(page)
    const verifier = base64url(crypto.getRandomValues(new Uint8Array(48)))
    sessionStorage.setItem(VERIFIER, verifier)
    // Browsers hash only in secure contexts.
    const hash = await crypto.subtle?.digest('SHA-256', new TextEncoder().encode(verifier))
    const query = new URLSearchParams({
      provider: 'custom:locanda',
      redirect_to: page,
      code_challenge: hash ? base64url(new Uint8Array(hash)) : verifier,
      code_challenge_method: hash ? 's256' : 'plain'
    })
    location.assign(`${base}/auth/v1/authorize?${query}`)
  }

  async function exchange (code) {
    const response = await fetch(`${base}/auth/v1/token?grant_type=pkce`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ auth_code: code, code_verifier: sessionStorage.getItem(VERIFIER) ?? '' })
    })
    sessionStorage.removeItem(VERIFIER)
    const session = await response.json()
    if (!response.ok) return show('L’accesso non è riuscito: ripetere.')
    token = session.access_token
    ui?.preauthorizeApiKey('bearer', token)
    show(`Accesso come ${session.user.email}`)
    setTimeout(() => forget('L’accesso è scaduto: ripetere.'), session.expires_in * 1000)
  }

  button.addEventListener('click', async () => {
    if (!token) return await startSignIn()
    const headers = { authorization: `Bearer ${token}` }
    forget('')
    await fetch(`${base}/auth/v1/logout?scope=local`, { method: 'POST', headers })
  })

  show('')
  const url = new URL(location.href)
  const code = url.searchParams.get('code')
  const failure = url.searchParams.get('error_description')
  // Swagger UI derives the URL of the description from the URL of the page.
  if (url.search !== '') history.replaceState(null, '', url.pathname + url.hash)
  if (failure) show(`L’accesso non è riuscito: ${failure}`)
  if (code) exchange(code).catch(() => show('L’accesso non è riuscito: ripetere.'))
}
