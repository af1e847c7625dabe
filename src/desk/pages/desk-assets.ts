import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { routesUnder } from '#src/lib/routes-under.ts'

/** Number of calendar columns that have classes. The page shows fewer. */
const COLUMNS = 62

/**
 * The classes that place the calendar's bars, because the policy forbids inline styles. `s3` starts on day 3, and `n2`
 * is two days long.
 */
function calendarPlaces (): string {
  return Array.from({ length: COLUMNS }, (_, at) =>
    `.s${at + 1}{grid-column-start:${at + 2}}.n${at + 1}{grid-column-end:span ${at + 1}}`).join('\n')
}

const TYPES: Readonly<Record<string, string>> = { css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' }

const htmx = createRequire(import.meta.url).resolve('htmx.org/dist/htmx.min.js')
const text = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')

const CSS = asset('desk.css', `${text('desk.css')}${calendarPlaces()}`)
const HTMX = asset('htmx.js', readFileSync(htmx, 'utf8').replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n'))
const SCRIPT = asset('desk.js', text('desk.js'))
const ICON = asset('icon.svg', text('icon.svg'))

/** The URLs of the files that every page loads. Each has a hash of its content, so browsers may cache it for a year. */
export const ASSETS = { css: CSS.url, htmx: HTMX.url, script: SCRIPT.url, icon: ICON.url }

/** A page loads files only from this server. `img-src` has `blob:` for the preview of a photo. */
export const DESK_POLICY = [
  "default-src 'none'", "style-src 'self'", "script-src 'self'", "connect-src 'self'", "img-src 'self' blob:",
  "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"
].join(';')

interface Asset { url: string, type: string, content: string }

function asset (name: string, content: string): Asset {
  const [base, ending = ''] = name.split('.')
  const type = TYPES[ending]!
  return { url: `/desk/${base}-${hash('sha256', content).slice(0, 12)}.${ending}`, type, content }
}

const route = routesUnder('Sistema')

/** Serves the style, the scripts and the icon of the pages. */
export function serveAssets (app: FastifyInstance): void {
  for (const [at, { url, type, content }] of [CSS, HTMX, SCRIPT, ICON].entries()) {
    const options = route({ access: 'public' }, `getFileReception${at + 1}`, 'Un file delle pagine', {
      hide: true, response: { 200: { description: 'Un file', content: { [type]: { schema: Type.String() } } } }
    })
    app.get(url, options, async (_request, reply) => reply
      .header('cache-control', 'public, max-age=31536000, immutable')
      .type(`${type}; charset=utf-8`)
      .send(content))
  }
}
