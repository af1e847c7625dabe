/** A text that already is HTML. */
export interface Html { readonly html: string }

type Part = string | number | Html | readonly Html[]

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;'
}

/** HTML template literal. Interpolated text is escaped, unless it is `Html`. */
export function html (strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { html: String.raw({ raw: strings }, ...parts.map(written)) }
}

function written (part: Part): string {
  if (typeof part === 'string' || typeof part === 'number') {
    return String(part).replace(/[&<>"']/g, (character) => ESCAPES[character]!)
  }
  return 'html' in part ? part.html : part.map((each) => each.html).join('')
}
