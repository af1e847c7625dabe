import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { temporaryFolder } from '#test/helper.ts'

export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path)
)

/** The official client, as a page loads it. */
const CLIENT = readFileSync(
  join(dirname(createRequire(import.meta.url).resolve('@supabase/supabase-js')), 'umd/supabase.js'),
  'utf8'
)

/** A page in Chromium with devices that answer by themselves (WebAuthn's virtual authenticators). */
export interface Page {
  /** Evaluates an expression, which may be a promise, and gives its value as JSON. */
  evaluate<T> (expression: string): Promise<T>
  /** Devices that know their person, or do not any more. */
  knowPerson (isKnown: boolean): Promise<void>
  /** Other devices in place of these: those of somebody else. */
  changeDevices (): Promise<void>
}

/**
 * Opens a page of a server at its own address, with the official client in it. Nothing but this machine can be reached.
 * The page's policy does not count: it lets no page load anything, and this one is no page of the server's.
 */
export async function openPage (t: Test, url: string): Promise<Page> {
  const browser = spawn(CHROMIUM!, [
    '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-extensions',
    '--remote-debugging-port=0', '--proxy-server=http://127.0.0.1:9', `--user-data-dir=${temporaryFolder(t)}`, url
  ], { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = new Promise<void>((resolve) => { browser.once('close', () => resolve()) })
  t.teardown(async () => {
    browser.kill('SIGKILL')
    await ended
  })
  const port = await debuggingPort(browser.stderr)
  const send = await connect(t, await pageSocket(port, url))

  await send('Page.setBypassCSP', { enabled: true })
  await send('Page.reload', {})
  await send('WebAuthn.enable', {})
  const options = {
    protocol: 'ctap2',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
    automaticPresenceSimulation: true
  }
  let devices: string[] = []
  async function changeDevices () {
    for (const authenticatorId of devices) await send('WebAuthn.removeVirtualAuthenticator', { authenticatorId })
    devices = []
    for (const transport of ['internal', 'usb']) {
      const { authenticatorId } = await send('WebAuthn.addVirtualAuthenticator', { options: { ...options, transport } })
      devices.push(String(authenticatorId))
    }
  }
  await changeDevices()

  async function evaluate<T> (expression: string): Promise<T> {
    const { result, exceptionDetails } = await send('Runtime.evaluate', {
      expression, awaitPromise: true, returnByValue: true, userGesture: true
    }) as { result: { value: T }, exceptionDetails?: { exception?: { description?: string } } }
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? 'the page has failed')
    return result.value
  }
  // The reload may still be under way: until the address is there, scripts are lost with the page before it.
  while (await evaluate('document.readyState + location.href') !== `complete${url}`);
  await evaluate(`${CLIENT}; 0`)
  return {
    evaluate,
    changeDevices,
    async knowPerson (isUserVerified) {
      for (const authenticatorId of devices) await send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })
    }
  }
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

type Send = (method: string, params: object) => Promise<Record<string, unknown>>

async function connect (t: Test, address: string): Promise<Send> {
  const socket = new WebSocket(address)
  t.teardown(() => socket.close())
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true })
    socket.addEventListener('error', reject, { once: true })
  })
  let last = 0
  const waiting = new Map<number, PromiseWithResolvers<Record<string, unknown>>>()
  socket.addEventListener('message', ({ data }) => {
    const { id, result, error } = JSON.parse(String(data)) as
      { id?: number, result?: Record<string, unknown>, error?: { message: string } }
    if (id === undefined) return
    if (error) waiting.get(id)?.reject(new Error(error.message))
    else waiting.get(id)?.resolve(result ?? {})
    waiting.delete(id)
  })
  return (method, params) => {
    const answer = Promise.withResolvers<Record<string, unknown>>()
    waiting.set(++last, answer)
    socket.send(JSON.stringify({ id: last, method, params }))
    return answer.promise
  }
}
