/** Text that is HTML already. */
export interface Html { readonly html: string }

type Part = string | number | Html | readonly Html[]

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;'
}

/** HTML from a template: what is put into it is text, unless it was made here too. */
export function html (strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { html: String.raw({ raw: strings }, ...parts.map(written)) }
}

function written (part: Part): string {
  if (typeof part === 'string' || typeof part === 'number') {
    return String(part).replace(/[&<>"']/g, (character) => ESCAPES[character]!)
  }
  return 'html' in part ? part.html : part.map((each) => each.html).join('')
}
