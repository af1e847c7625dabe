import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { CHROMIUM, openTab } from '#test/chromium.ts'
import { build } from '#test/helper.ts'
import { freePort } from '#test/free-port.ts'

const skip = CHROMIUM ? false : 'no Chromium is installed'
const SIDE = 390
const LOOK_MS = 10

t.test('on a telephone in the dark the reference fits, is searched, and tries requests out', { skip }, async (t) => {
  const port = await freePort()
  const url = `http://localhost:${port}`
  const { app } = await build(t)
  await app.listen({ host: '127.0.0.1', port })
  const { send, evaluate } = await openTab(t, `${url}/health/live`)
  await send('Emulation.setDeviceMetricsOverride', { width: SIDE, height: 844, deviceScaleFactor: 1, mobile: true })
  await send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: 'dark' }] })
  await send('Page.navigate', { url: `${url}/docs` })

  /** Waits until an expression has a value. */
  async function until<T> (expression: string): Promise<T> {
    for (;;) {
      try {
        const value = await evaluate<T | null>(expression)
        if (value) return value
      } catch {
        // The page is on its way.
      }
      await sleep(LOOK_MS)
    }
  }
  const click = (selector: string) => until(`(() => {
    const found = document.querySelector(${JSON.stringify(selector)})
    found?.click()
    return found !== null
  })()`)

  await until("document.querySelector('.opblock') !== null")
  t.equal(await evaluate('innerWidth'), SIDE, 'nothing is wider than the telephone')
  t.ok(await evaluate("document.documentElement.matches('.dark-mode')"))
  t.not(await evaluate('getComputedStyle(document.documentElement).backgroundColor'), 'rgb(255, 255, 255)')

  await evaluate(`(() => {
    const field = document.querySelector('.operation-filter-input')
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, 'health')
    field.dispatchEvent(new Event('input', { bubbles: true }))
  })()`)
  t.ok(await until("document.querySelector('[data-path=\"/health/live\"]') !== null"), 'a path is found by its name')
  await click('.opblock:has([data-path="/health/live"]) .opblock-summary-control')
  await click('.try-out__btn')
  await click('.execute')
  const status = "document.querySelector('.live-responses-table tbody .response-col_status')"
  t.equal(await until(`${status}?.textContent.trim()`), '200')
  t.equal(await evaluate('innerWidth'), SIDE)
})
