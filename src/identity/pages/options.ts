import type { IdentityOptions } from '../options.ts'
import type { Ask } from './ask.ts'
import type { PageCookies } from './cookies.ts'
import type { GoOn } from './go-on.ts'
import type { Visitors } from './visitors.ts'

/** What the pages are set up with. */
export interface PageOptions extends IdentityOptions {
  ask: Ask
  cookies: PageCookies
  visitors: Visitors
  goOn: GoOn
}
