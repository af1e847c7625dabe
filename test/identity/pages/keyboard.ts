import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { openTab, type Tab } from '#test/chromium.ts'
import type { Test } from 'tap'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const MOST_TABS = 80
const COLOURS = ['color-contrast', 'link-in-text-block']
/**
 * All rules are asked on a telephone. The dark scheme differs by its colours alone, and a wider screen by the places of
 * things alone, and so do the rules that are asked there.
 */
const VIEWS = [
  { width: 390, height: 844, scheme: 'light', rules: undefined },
  { width: 390, height: 844, scheme: 'dark', rules: COLOURS },
  { width: 1280, height: 800, scheme: 'light', rules: [...COLOURS, 'target-size', 'scrollable-region-focusable'] }
]
/**
 * The kinds of elements of a page, each with its attributes' names and its parent, in their order. What axe finds, and
 * how wide a page is, hangs on these and on its path.
 */
const ELEMENTS = `[...document.querySelectorAll('*')].filter((each) => each.tagName !== 'SCRIPT').map((each) => [
  each.parentElement?.tagName, each.tagName, each.className, each.role, each.getAttributeNames(),
  each.textContent.trim() === ''
].join(' '))`

const judgedPages = new Set<string>()
const judgedElements = new Set<string>()

/** Between two looks whether a page is there: asked without a pause, the browser is kept from loading it. */
export const LOOK_MS = 15

/** A person at a browser who has a keyboard and nothing else. */
export interface Typist extends Tab {
  /** Goes to an address, as one that is typed or followed from a mail. */
  open (url: string): Promise<void>
  /** Presses Tab until the focus is on what matches, and checks that the focus can be seen. */
  reach (selector: string): Promise<void>
  write (selector: string, text: string): Promise<void>
  /** Presses Enter on what matches, and waits for the next page. Its path is returned. */
  press (selector: string): Promise<string>
  /** Presses Enter on what matches, which leads nowhere. */
  hit (selector: string): Promise<void>
  /**
   * The faults that axe finds on the page, or that do not fit: at 390 px light and dark, and at 1280 px. A page of
   * elements that were judged before is not judged again, nor are its colours and places where none of them is new.
   */
  faults (): Promise<string[]>
}

/** @param settings of the browser, where they are not the usual ones */
export async function typist (t: Test, url: string, settings?: object): Promise<Typist> {
  const tab = await openTab(t, url, settings)
  const { send, evaluate } = tab
  const key = async (name: 'Tab' | 'Enter') => {
    const pressed = name === 'Tab'
      ? { key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9 }
      : { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13, text: '\r' }
    await send('Input.dispatchKeyEvent', { type: name === 'Tab' ? 'rawKeyDown' : 'keyDown', ...pressed })
    await send('Input.dispatchKeyEvent', { type: 'keyUp', ...pressed })
  }

  /** Does what leads to another page, and waits until that is there. */
  async function leave (act: () => Promise<unknown>): Promise<string> {
    await evaluate('window.isBefore = true; 0')
    await act()
    for (;;) {
      try {
        const path = await evaluate<string | null>(
          "!window.isBefore && document.readyState === 'complete' ? location.pathname + location.search : null"
        )
        if (path !== null) return path
      } catch {
        // The page has gone while it was asked.
      }
      await sleep(LOOK_MS)
    }
  }

  async function reach (selector: string): Promise<void> {
    const isThere = `document.activeElement?.matches(${JSON.stringify(selector)}) ?? false`
    for (let tabs = 0; !await evaluate<boolean>(isThere); tabs++) {
      if (tabs === MOST_TABS) throw new Error(`no Tab leads to ${selector}`)
      await key('Tab')
    }
    const isVisible = await evaluate<boolean>(
      "getComputedStyle(document.activeElement).outlineStyle !== 'none' && document.activeElement.offsetParent !== null"
    )
    if (!isVisible) throw new Error(`the focus on ${selector} cannot be seen`)
  }

  return {
    ...tab,
    reach,
    open: async (address) => { await leave(() => send('Page.navigate', { url: address })) },
    async write (selector, text) {
      await reach(selector)
      await evaluate('document.activeElement.select(); 0')
      await send('Input.insertText', { text })
    },
    async press (selector) {
      await reach(selector)
      return await leave(() => key('Enter'))
    },
    async hit (selector) {
      await reach(selector)
      await key('Enter')
    },
    async faults () {
      const found: string[] = []
      const elements = await evaluate<string[]>(ELEMENTS)
      const page = [await evaluate<string>('location.pathname'), ...elements].join('\n')
      if (judgedPages.has(page)) return found
      const views = elements.every((each) => judgedElements.has(each)) ? VIEWS.slice(0, 1) : VIEWS
      if (!await evaluate<boolean>('"axe" in window')) await evaluate(`{ ${AXE} }; 0`)
      for (const { width, height, scheme, rules } of views) {
        await send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 500 })
        await send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] })
        const options = { resultTypes: ['violations'], ...rules && { runOnly: rules } }
        const [path, tooWide, faults] = await evaluate<[string, boolean, string[]]>(`(async () => {
          const { violations } = await axe.run(${JSON.stringify(options)})
          return [
            location.pathname,
            document.documentElement.scrollWidth > innerWidth,
            violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html).join(' '))
          ]
        })()`)
        const where = `${path} at ${width} px, ${scheme}: `
        found.push(...faults.map((fault) => where + fault), ...tooWide ? [`${where}wider than the screen`] : [])
      }
      if (found.length === 0) {
        judgedPages.add(page)
        for (const each of elements) judgedElements.add(each)
      }
      return found
    }
  }
}
