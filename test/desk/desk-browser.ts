import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Role } from '#src/identity/people/roles.ts'
import { CHROMIUM } from '#test/chromium.ts'
import { LOOK_MS, typist } from '#test/identity/pages/keyboard.ts'
import { createPerson, PASSWORD } from '#test/identity/shared-password.ts'
import type { TestApp } from '#test/helper.ts'

export const skip = CHROMIUM ? false : 'no Chromium is installed'

/** The folder for pictures of the pages. Without it the tests write none. */
const { DESK_PICTURES: PICTURES } = process.env
const EMAIL = 'anna@example.org'
const WIDTHS = [390, 768, 1280]
const SCHEMES = ['light', 'dark'] as const
/** Links in a text and the names of a list may be lower than a button. The label around an input is its target too. */
const SMALL_TARGETS = `[...document.querySelectorAll('main :is(a, button, input, select, summary)')]
  .filter((each) => each.offsetParent && !each.matches('.who, .sr, small *, .alarm a'))
  .filter((each) => (each.closest('label') ?? each).getBoundingClientRect().height < 44)
  .map((each) => each.outerHTML.slice(0, 90))`

/** Listens at `url`, and opens Chromium for a person with only the keyboard. */
export async function deskBrowser (t: Test, server: TestApp, url: string, role: Role = 'operator') {
  await server.app.listen({ host: '127.0.0.1', port: Number(new URL(url).port) })
  await createPerson(server, EMAIL, { user_metadata: { lingua: 'it' }, app_metadata: { role } })
  const person = await typist(t, `${url}/health/live`)
  const { page, open, write, press, faults, evaluate, send, events } = person
  await send('Log.enable')

  async function resize (width: number): Promise<void> {
    // No phone is emulated, because its view would become as wide as a page that is too wide.
    await page.setViewportSize({ width, height: 900 })
  }

  async function picture (name: string): Promise<void> {
    if (PICTURES === undefined) return
    for (const scheme of SCHEMES) {
      await page.emulateMedia({ colorScheme: scheme })
      for (const width of WIDTHS) {
        await resize(width)
        await page.screenshot({ fullPage: true, path: join(PICTURES, `${name}-${width}-${scheme}.png`) })
      }
    }
  }

  return {
    ...person,
    /** Fills the sign-in page. Returns the path of the next page. */
    async signIn (): Promise<string> {
      await write('#email', EMAIL)
      await write('#password', PASSWORD)
      return await press('form[action="/auth/accedi"] button')
    },
    /** Checks that the page is accessible, fits three widths and has large targets. `name` names its picture. */
    async look (name: string, path?: string): Promise<void> {
      if (path !== undefined) await open(url + path)
      t.same(await faults(), [], `${name} is accessible`)
      for (const width of WIDTHS) {
        await resize(width)
        t.ok(await evaluate('document.documentElement.scrollWidth <= innerWidth'), `${name} fits ${width} px`)
        t.same(await evaluate(SMALL_TARGETS), [], `${name} has large targets at ${width} px`)
      }
      await picture(name)
    },
    /** Waits until an expression is true in the page. */
    async shows (expression: string): Promise<void> {
      while (!await evaluate<boolean>(expression)) await sleep(LOOK_MS)
    },
    /** Violations of the content security policy. */
    violations () {
      return events.filter(({ method }) => method === 'Log.entryAdded')
        .map(({ params }) => (params.entry as { source: string, text: string }))
        .filter(({ source }) => source === 'security')
    }
  }
}
