/** Follows redirects itself, stores cookies per host, and submits the forms that pages would submit by script. */
export interface Browser {
  /** Opens a URL, and follows redirects until a URL on another machine or a page. `visited` lists all URLs. */
  go (address: string, init?: RequestInit): Promise<Stop>
  /** Sends a request like a script of the same origin: cookies are stored, and redirects are not followed. */
  ask (address: string, init?: RequestInit): Promise<Response>
  visited: string[]
}

/** The place where the browser stops: a URL that it does not fetch, or a page. */
export interface Stop { url: URL, status?: number, body?: string }

interface Cookie { value: string, path: string, isLax: boolean }

const MAX_STEPS = 20

/** @param frontEnd the front end's origin, or the path of a page, at which it stops */
export function browser (frontEnd: string): Browser {
  const cookies = new Map<string, Map<string, Cookie>>()
  const visited: string[] = []

  function remember (host: string, response: Response): void {
    const jar = cookies.get(host) ?? new Map<string, Cookie>()
    cookies.set(host, jar)
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (name === undefined || value === undefined) continue
      const path = /; *path=([^;]*)/i.exec(line)?.[1] ?? '/'
      if (/; *max-age=0/i.test(line)) jar.delete(name)
      else jar.set(name, { value, path, isLax: /; *samesite=lax/i.test(line) })
    }
  }

  /** @param from the current page: a form from another site sends no cookies with `SameSite=Lax` */
  async function fetchPage (url: URL, init: RequestInit, from: URL): Promise<Response> {
    const isForeignForm = init.method === 'POST' && from.origin !== url.origin
    const cookie = [...cookies.get(url.host) ?? []]
      .filter(([, { path, isLax }]) => url.pathname.startsWith(path) && !(isLax && isForeignForm))
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ')
    const response = await fetch(url, {
      ...init, redirect: 'manual', headers: { ...init.headers, ...(cookie && { cookie }) }
    })
    remember(url.host, response)
    return response
  }

  return {
    visited,
    ask: async (address, init = {}) => await fetchPage(new URL(address), init, new URL(address)),
    async go (address, init = {}) {
      let url = new URL(address)
      let next: RequestInit = init
      let from = url
      for (let step = 0; step < MAX_STEPS; step++) {
        visited.push(url.href)
        const isHere = ['127.0.0.1', 'localhost'].includes(url.hostname)
        if (!isHere || url.origin === frontEnd || url.pathname === frontEnd) return { url }
        const response = await fetchPage(url, next, from)
        from = url
        const body = await response.text()
        const location = response.headers.get('location')
        const form = formIn(body)
        if (location !== null) {
          url = new URL(location, url)
          next = {}
        } else if (response.status === 200 && form !== undefined) {
          url = new URL(form.action, url)
          next = { method: 'POST', body: form.fields, headers: { 'content-type': 'application/x-www-form-urlencoded' } }
        } else {
          return { url, status: response.status, body }
        }
      }
      throw new Error('a redirect loop')
    }
  }
}

/** The form of an OAuth 2 Form Post Response Mode page. */
function formIn (html: string): { action: string, fields: URLSearchParams } | undefined {
  const action = /<form[^>]* action="([^"]*)"/.exec(html)?.[1]
  if (action === undefined) return undefined
  const fields = new URLSearchParams()
  for (const [, name = '', value = ''] of html.matchAll(/<input[^>]* name="([^"]*)"[^>]* value="([^"]*)"/g)) {
    fields.append(name, value)
  }
  return { action, fields }
}
