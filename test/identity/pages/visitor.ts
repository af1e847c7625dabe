import type { FastifyInstance, LightMyRequestResponse } from 'fastify'

/** A browser without scripts: it stores cookies, follows redirects, and submits the forms of its current page. */
export interface VisitorBrowser {
  /** The current page. */
  page (): LightMyRequestResponse & { path: string }
  open (url: string): Promise<VisitorBrowser>
  /** Fills in and submits the current page's form with this action. `at` selects one of several forms. */
  submit (action: string, fields?: Record<string, string>, at?: number): Promise<VisitorBrowser>
  cookie (): string
}

export function visitorBrowser (app: Pick<FastifyInstance, 'inject'>, language = 'it'): VisitorBrowser {
  const jar = new Map<string, string>()
  const cookie = () => [...jar].map((pair) => pair.join('=')).join('; ')
  let shown: (LightMyRequestResponse & { path: string }) | undefined

  async function go (method: 'GET' | 'POST', url: string, payload?: string): Promise<VisitorBrowser> {
    const response = await app.inject({
      method,
      url,
      headers: {
        accept: 'text/html',
        'accept-language': language,
        cookie: cookie(),
        ...(method === 'POST' ? { 'content-type': 'application/x-www-form-urlencoded' } : {})
      },
      ...(payload === undefined ? {} : { payload })
    })
    for (const { name, value, maxAge } of response.cookies) {
      if (value === '' || maxAge === 0) jar.delete(name)
      else jar.set(name, value)
    }
    const { location } = response.headers
    if (typeof location === 'string') return await go('GET', location)
    shown = Object.assign(response, { path: url })
    return browser
  }

  const browser: VisitorBrowser = {
    page: () => shown!,
    cookie,
    open: (url) => go('GET', url),
    async submit (action, fields = {}, at = 0) {
      const form = formsOf(shown!.body).filter((each) => each.action === action)[at]
      if (!form) throw new Error(`no form ${action} on ${shown!.path}: ${shown!.body}`)
      const unknown = Object.keys(fields).filter((name) => !form.fields.has(name) && !form.boxes.has(name))
      if (unknown.length > 0) throw new Error(`no field ${unknown.join()} in ${action}`)
      return await go('POST', action, new URLSearchParams({ ...Object.fromEntries(form.fields), ...fields }).toString())
    }
  }
  return browser
}

interface Form {
  action: string
  /** The fields that the form submits unchanged. */
  fields: Map<string, string>
  /** The names of unchecked boxes. */
  boxes: Set<string>
}

/** The forms of a page, with their targets and fields. */
export function formsOf (body: string): Form[] {
  return [...body.matchAll(/<form [^>]*method="post" action="([^"]*)">(.*?)<\/form>/gs)].map(([, action = '', inner = '']) => {
    const inputs = [...inner.matchAll(/<input ([^>]*)>/g)].map(([, attributes = '']) => ({
      name: /name="([^"]*)"/.exec(attributes)![1]!,
      value: unescaped(/value="([^"]*)"/.exec(attributes)?.[1] ?? ''),
      isSent: !attributes.includes('type="checkbox"') || attributes.endsWith(' checked')
    }))
    for (const [, name, value = ''] of inner.matchAll(/<textarea [^>]*name="([^"]*)"[^>]*>\n?(.*?)<\/textarea>/gs)) {
      inputs.push({ name: name!, value: unescaped(value), isSent: true })
    }
    for (const [, name, options = ''] of inner.matchAll(/<select [^>]*name="([^"]*)"[^>]*>(.*?)<\/select>/gs)) {
      inputs.push({ name: name!, value: /value="([^"]*)"[^>]* selected/.exec(options)?.[1] ?? '', isSent: true })
    }
    return {
      action,
      fields: new Map(inputs.filter(({ isSent }) => isSent).map(({ name, value }) => [name, value] as const)),
      boxes: new Set(inputs.filter(({ isSent }) => !isSent).map(({ name }) => name))
    }
  })
}

function unescaped (text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}

/** The error below a field. */
export function errorOf (body: string, id: string): string | undefined {
  return new RegExp(`<span class="error" id="${id}-error">([^<]*)</span>`).exec(body)?.[1]
}
