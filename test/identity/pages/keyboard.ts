import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { openTab, type BrowserOptions, type Tab } from '#test/chromium.ts'
import type { Test } from 'tap'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const MOST_TABS = 80
const COLOURS = ['color-contrast', 'link-in-text-block']
/**
 * All rules are checked at phone size. The dark scheme differs only in colours, and a wider screen only in layout. So
 * in these two only the rules about colours or layout are checked.
 */
const VIEWS = [
  { width: 390, height: 844, scheme: 'light', rules: undefined },
  { width: 390, height: 844, scheme: 'dark', rules: COLOURS },
  { width: 1280, height: 800, scheme: 'light', rules: [...COLOURS, 'target-size', 'scrollable-region-focusable'] }
] as const
/**
 * The elements of a page in order, each with its attributes' names and its parent. The results of axe, and the page's
 * width, depend only on these and on its path.
 */
const ELEMENTS = `[...document.querySelectorAll('*')].filter((each) => each.tagName !== 'SCRIPT').map((each) => [
  each.parentElement?.tagName, each.tagName, each.className, each.role, each.getAttributeNames(),
  each.textContent.trim() === ''
].join(' '))`

const judgedPages = new Set<string>()
const judgedElements = new Set<string>()

/** Pause between two checks for a page. Without it, polling would keep the browser from loading. */
export const LOOK_MS = 15

/** A person who uses a browser with only the keyboard. */
interface Typist extends Tab {
  /** Opens a URL, like one that is typed or in a mail. */
  open (url: string): Promise<void>
  /** Presses Tab until a matching element has the focus, and checks that the focus is visible. */
  reach (selector: string): Promise<void>
  write (selector: string, text: string): Promise<void>
  /** Presses Enter on a matching element, and waits for the next page. Returns its path. */
  press (selector: string): Promise<string>
  /** Presses Enter on a matching element that opens no other page. */
  hit (selector: string): Promise<void>
  /**
   * The errors that axe finds, or an overflow: at 390 px light and dark, and at 1280 px. A page whose elements were all
   * checked before is skipped. Without new elements, colours and layout are skipped too.
   */
  faults (): Promise<string[]>
}

export async function typist (t: Test, url: string, options?: BrowserOptions): Promise<Typist> {
  const tab = await openTab(t, url, options)
  const { page, evaluate } = tab

  /** Runs an action that opens another page, and waits for that page. */
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
        // The page was replaced during the evaluation.
      }
      await sleep(LOOK_MS)
    }
  }

  async function reach (selector: string): Promise<void> {
    const isThere = `document.activeElement?.matches(${JSON.stringify(selector)}) ?? false`
    for (let tabs = 0; !await evaluate<boolean>(isThere); tabs++) {
      if (tabs === MOST_TABS) throw new Error(`no Tab leads to ${selector}`)
      await page.keyboard.press('Tab')
    }
    const isVisible = await evaluate<boolean>(
      "getComputedStyle(document.activeElement).outlineStyle !== 'none' && document.activeElement.offsetParent !== null"
    )
    if (!isVisible) throw new Error(`the focus on ${selector} cannot be seen`)
  }

  return {
    ...tab,
    reach,
    open: async (address) => { await leave(() => page.goto(address)) },
    async write (selector, text) {
      await reach(selector)
      await evaluate('document.activeElement.select(); 0')
      await page.keyboard.insertText(text)
    },
    async press (selector) {
      await reach(selector)
      return await leave(() => page.keyboard.press('Enter'))
    },
    async hit (selector) {
      await reach(selector)
      await page.keyboard.press('Enter')
    },
    async faults () {
      const found: string[] = []
      const elements = await evaluate<string[]>(ELEMENTS)
      const content = [await evaluate<string>('location.pathname'), ...elements].join('\n')
      if (judgedPages.has(content)) return found
      const views = elements.every((each) => judgedElements.has(each)) ? VIEWS.slice(0, 1) : VIEWS
      if (!await evaluate<boolean>('"axe" in window')) await evaluate(`{ ${AXE} }; 0`)
      for (const { width, height, scheme, rules } of views) {
        await page.setViewportSize({ width, height })
        await page.emulateMedia({ colorScheme: scheme })
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
        judgedPages.add(content)
        for (const each of elements) judgedElements.add(each)
      }
      return found
    }
  }
}
