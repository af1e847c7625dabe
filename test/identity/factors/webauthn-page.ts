import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { until } from '#test/alloggiati/stand-in.ts'
import { DEVICE, openTab } from '#test/chromium.ts'

/** The official client, as pages load it. */
const CLIENT = readFileSync(
  join(dirname(createRequire(import.meta.url).resolve('@supabase/supabase-js')), 'umd/supabase.js'),
  'utf8'
)

/** A page in Chromium with devices that respond automatically (WebAuthn's virtual authenticators). */
export interface Page {
  /** Evaluates an expression, which may be a promise, and returns its value as JSON. */
  evaluate<T> (expression: string): Promise<T>
  /** Sets whether the devices can verify their person. */
  knowPerson (isKnown: boolean): Promise<void>
  /** Replaces the devices with another person's. */
  changeDevices (): Promise<void>
}

/**
 * Opens a page at a server's own URL, with the official client in it. Only this machine can be reached. The server has
 * no page with the client, so this page bypasses the policy, which blocks all loading.
 */
export async function openPage (t: Test, url: string): Promise<Page> {
  const { send, evaluate } = await openTab(t, url)
  await send('Page.setBypassCSP', { enabled: true })
  await evaluate('window.isBefore = true; 0')
  await send('Page.reload', {})
  await send('WebAuthn.enable', {})
  let devices: string[] = []
  async function changeDevices () {
    for (const authenticatorId of devices) await send('WebAuthn.removeVirtualAuthenticator', { authenticatorId })
    devices = []
    for (const transport of ['internal', 'usb']) {
      const { authenticatorId } = await send('WebAuthn.addVirtualAuthenticator', { options: { ...DEVICE, transport } })
      devices.push(String(authenticatorId))
    }
  }
  await changeDevices()

  // The reload may still be running. The previous page has the same URL, and its scripts are lost.
  const isThere = `!window.isBefore && document.readyState + location.href === 'complete${url}'`
  await until(() => evaluate<boolean>(isThere).catch(() => false))
  await evaluate(`${CLIENT}; 0`)
  return {
    evaluate,
    changeDevices,
    async knowPerson (isUserVerified) {
      for (const authenticatorId of devices) await send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })
    }
  }
}
