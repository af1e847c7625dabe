import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { temporaryFolder } from './helper.ts'

export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path)
)

/** Sends a command to the browser (Chrome DevTools Protocol). */
export type Send = (method: string, params?: object) => Promise<Record<string, unknown>>

/** A tab in Chromium. */
export interface Tab {
  send: Send
  /** Evaluates an expression, awaits promises, and returns the value as JSON. */
  evaluate<T> (expression: string): Promise<T>
  /** Events of the enabled domains so far. */
  events: readonly BrowserEvent[]
}

interface BrowserEvent { method: string, params: Record<string, unknown> }

/** Browser preferences that block all cookies. */
export const NO_COOKIES = { profile: { default_content_setting_values: { cookies: 2 } } }

/**
 * Opens a URL in a new Chromium, which can reach only this machine.
 * @param settings preferences that differ from the default profile
 * @param options further command-line options. The last one with a name takes precedence
 */
export async function openTab (
  t: Test, url: string, settings: object = {}, options: readonly string[] = []
): Promise<Tab> {
  const profile = temporaryFolder(t)
  mkdirSync(join(profile, 'Default'))
  writeFileSync(join(profile, 'Default', 'Preferences'), JSON.stringify(settings))
  const browser = spawn(CHROMIUM!, [
    '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-extensions',
    '--remote-debugging-port=0', '--proxy-server=http://127.0.0.1:9', `--user-data-dir=${profile}`,
    ...options, url
  ], { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = new Promise<void>((resolve) => { browser.once('close', () => resolve()) })
  t.teardown(async () => {
    browser.kill('SIGKILL')
    await ended
  })
  const port = await debuggingPort(browser.stderr)
  const { send, events } = await connect(t, await pageSocket(port, url))
  return {
    send,
    events,
    async evaluate<T> (expression: string): Promise<T> {
      const { result, exceptionDetails } = await send('Runtime.evaluate', {
        expression, awaitPromise: true, returnByValue: true, userGesture: true
      }) as { result: { value: T }, exceptionDetails?: { exception?: { description?: string } } }
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? 'the page has failed')
      return result.value
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

async function debuggingPort (stderr: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stderr })) {
    const port = /^DevTools listening on ws:\/\/127\.0\.0\.1:(\d+)\//.exec(line)?.[1]
    if (port !== undefined) {
      stderr.resume()
      return port
    }
  }
  throw new Error('Chromium has ended')
}

async function pageSocket (port: string, url: string): Promise<string> {
  for (;;) {
    const targets = await (await fetch(`http://127.0.0.1:${port}/json/list`)).json() as
      { type: string, url: string, webSocketDebuggerUrl: string }[]
    const page = targets.find((target) => target.type === 'page' && target.url === url)
    if (page) return page.webSocketDebuggerUrl
  }
}

async function connect (t: Test, address: string): Promise<Pick<Tab, 'send' | 'events'>> {
  const socket = new WebSocket(address)
  t.teardown(() => socket.close())
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true })
    socket.addEventListener('error', reject, { once: true })
  })
  let last = 0
  const waiting = new Map<number, PromiseWithResolvers<Record<string, unknown>>>()
  const events: BrowserEvent[] = []
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as BrowserEvent | BrowserResponse
    if (!('id' in message)) {
      events.push(message)
      return
    }
    const { id, result, error } = message
    if (error) waiting.get(id)?.reject(new Error(error.message))
    else waiting.get(id)?.resolve(result ?? {})
    waiting.delete(id)
  })
  return {
    events,
    send: (method, params = {}) => {
      const response = Promise.withResolvers<Record<string, unknown>>()
      waiting.set(++last, response)
      socket.send(JSON.stringify({ id: last, method, params }))
      return response.promise
    }
  }
}

/** The response to a command. */
interface BrowserResponse { id: number, result?: Record<string, unknown>, error?: { message: string } }
