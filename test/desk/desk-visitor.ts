import type { Test } from 'tap'
import type { Role } from '#src/identity/people/roles.ts'
import { createPerson, PASSWORD } from '#test/identity/shared-password.ts'
import { visitorBrowser, type VisitorBrowser } from '#test/identity/pages/visitor.ts'
import { build, type TestApp } from '#test/helper.ts'

/** The application for tests of pages, on a fixed day. */
export async function buildDesk (t: Test, environ: Record<string, string> = {}): Promise<TestApp> {
  return await build(t, { TODAY: '2026-11-28', RATE_LIMIT_LOGIN_MAX: '1000', ...environ })
}

/** A browser without scripts, of a person who has signed in to the desk. */
export async function signedIn (
  server: TestApp, email = 'anna@example.org', { role = 'operator', language = 'it' }: Options = {}
): Promise<VisitorBrowser> {
  await createPerson(server, email, { app_metadata: { role } })
  const browser = visitorBrowser(server.app, language)
  await browser.open('/oggi')
  return await browser.submit('/auth/accedi', { email, password: PASSWORD })
}

interface Options { role?: Role, language?: string }

/** Sends the form of a page that has a file. */
export function uploader (app: TestApp['app']) {
  return async (browser: VisitorBrowser, action: string, file: Buffer, fields: Record<string, string>) => {
    const [inner] = /enctype="multipart.*?<\/form>/s.exec(browser.page().body)!
    const secrets = Object.fromEntries([...inner.matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g)]
      .map(([, name, value]) => [name!, value!]))
    const form = new FormData()
    for (const [name, value] of Object.entries({ ...secrets, ...fields })) form.set(name, value)
    form.set('file', new File([new Uint8Array(file)], 'foto.jpg', { type: 'image/jpeg' }))
    const request = new Request('http://localhost/', { method: 'POST', body: form })
    return await app.inject({
      method: 'POST',
      url: action,
      headers: {
        accept: 'text/html', cookie: browser.cookie(), 'content-type': request.headers.get('content-type')!
      },
      payload: Buffer.from(await request.arrayBuffer())
    })
  }
}
