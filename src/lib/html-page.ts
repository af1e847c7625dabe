import { hash } from 'node:crypto'
import { html, type Html } from './html.ts'

/* Shared layout of this server's pages. Each has one inline style sheet. */

/**
 * Content security policy of a page: it loads only its style sheet, identified by its hash, and cannot be framed.
 * @param more further directives, e.g. `script-src 'self'`
 */
export function pagePolicy (style: string, more: readonly string[] = ["form-action 'none'"]): string {
  return [
    "default-src 'none'",
    `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
    "base-uri 'none'",
    ...more,
    "frame-ancestors 'none'"
  ].join(';')
}

/** @param content the content of the body. @param script URL of the page's only script, on this server */
export function htmlPage (
  { language, title, style, content, script }:
  { language: string, title: string, style: string, content: Html, script?: string | undefined }
): string {
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title} · Locanda</title>
<style>${{ html: style }}</style>${script === undefined ? '' : html`\n<script src="${script}" defer></script>`}
</head>
<body>
${content}
</body>
</html>
`.html
}
