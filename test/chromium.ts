import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { temporaryFolder } from './helper.ts'

export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path)
)

/** Sends a command to the browser (Chrome DevTools Protocol). */
export type Send = (method: string, params?: object) => Promise<Record<string, unknown>>

/** A tab in Chromium. */
export interface Tab {
  page: Page
  send: Send
  /**
   * Evaluates an expression, awaits promises, and returns the value as JSON. The page's content security policy does
   * not apply to it.
   */
  evaluate<T> (expression: string): Promise<T>
  /** Events of the enabled domains so far. */
  events: readonly BrowserEvent[]
}

interface BrowserEvent { method: string, params: Record<string, unknown> }

/** Browser preferences that block all cookies. */
export const NO_COOKIES = { profile: { default_content_setting_values: { cookies: 2 } } }

/** Options of a new Chromium. */
export interface BrowserOptions {
  /** Preferences that differ from the default profile. */
  settings?: object
  /** Further command-line options. The last one with a name takes precedence. */
  args?: readonly string[]
  javaScriptEnabled?: boolean
}

/** Opens a URL in a new Chromium, which can reach only this machine. */
export async function openTab (
  t: Test, url: string, { settings = {}, args = [], javaScriptEnabled = true }: BrowserOptions = {}
): Promise<Tab> {
  const profile = temporaryFolder(t)
  mkdirSync(join(profile, 'Default'))
  writeFileSync(join(profile, 'Default', 'Preferences'), JSON.stringify(settings))
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM!,
    args: ['--proxy-server=http://127.0.0.1:9', ...args],
    viewport: null,
    javaScriptEnabled
  })
  t.teardown(() => context.close())
  const page = context.pages()[0] ?? await context.newPage()
  const session = await context.newCDPSession(page)
  const events: BrowserEvent[] = []
  session.on('event', ({ method, params }) => { events.push({ method, params: { ...params } }) })
  const send = session.send.bind(session) as Send
  await page.goto(url)
  return {
    page,
    send,
    events,
    async evaluate<T> (expression: string): Promise<T> {
      const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
        expression, awaitPromise: true, returnByValue: true, userGesture: true
      })
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? 'the page has failed')
      return result.value as T
    }
  }
}

/** Options of a virtual WebAuthn authenticator that confirms every user verification. */
export const DEVICE = {
  protocol: 'ctap2',
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true
}
