import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { until } from '#test/alloggiati/stand-in.ts'
import { DEVICE, openTab } from '#test/chromium.ts'

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

  // The reload may still be under way: scripts are lost with the page before it, which has the same address.
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
