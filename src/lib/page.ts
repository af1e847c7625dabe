import { hash } from 'node:crypto'
import { html, type Html } from './html.ts'

/* What all pages of this server have in common. They bring one style sheet, inside of them. */

/**
 * The policy of a page: nothing is loaded but its style sheet, named by its hash, and no other page holds it in a
 * frame.
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

/** @param content of the body; @param script the address of the one script, of this server */
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
