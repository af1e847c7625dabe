import type { HtmlToTextOptions } from 'html-to-text'
import type { IOptions } from 'sanitize-html'

/** A mail's body as safe HTML, and as plain text. */
interface EmailContent { html: string, text: string }

/** Maximum nesting, far more than real mails have. The libraries take quadratic time in the depth. */
const DEPTH_MAX = 100
const ELEMENTS_MAX = 10_000

/** Allowed CSS values: words, lengths, colours and fonts. URLs load content, and negative lengths can hide some. */
const STYLE = /^(?!-|.*[ ,]-\d)(?:rgba?\([\d., ]+\)|[\w #%.,'"-]){1,100}$/i

/** CSS properties that cannot affect other elements. */
const STYLES = [
  'background-color', 'border', 'border-collapse', 'color', 'font-family', 'font-size', 'font-style', 'font-weight',
  'height', 'line-height', 'max-width', 'text-align', 'text-decoration', 'vertical-align', 'width',
  ...['margin', 'padding'].flatMap((name) => ['', '-top', '-right', '-bottom', '-left'].map((side) => name + side))
]

const ALLOWED: IOptions = {
  allowedTags: [
    'a', 'abbr', 'b', 'blockquote', 'br', 'caption', 'center', 'cite', 'code', 'col', 'colgroup', 'dd', 'del', 'div',
    'dl', 'dt', 'em', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'i', 'img', 'ins', 'li', 'ol', 'p', 'pre', 'q', 's',
    'small', 'span', 'strong', 'sub', 'sup', 'table', 'tbody', 'td', 'tfoot', 'th', 'thead', 'tr', 'u', 'ul'
  ],
  // Tags whose content is not text of the mail.
  nonTextTags: [
    'script', 'style', 'title', 'textarea', 'option', 'select', 'noscript', 'noembed', 'noframes', 'iframe', 'object',
    'template', 'svg', 'math', 'xmp', 'plaintext'
  ],
  allowedAttributes: {
    '*': ['style', 'dir', 'lang', 'title'],
    a: ['href'],
    img: ['src', 'alt', 'width', 'height'],
    table: ['width', 'border', 'cellpadding', 'cellspacing', 'align', 'role'],
    col: ['span', 'width'],
    td: ['colspan', 'rowspan', 'align', 'valign', 'width'],
    th: ['colspan', 'rowspan', 'align', 'valign', 'width'],
    ol: ['start', 'type']
  },
  allowedStyles: { '*': Object.fromEntries(STYLES.map((name) => [name, [STYLE]])) },
  allowedSchemes: ['http', 'https', 'mailto'],
  allowedSchemesByTag: { img: ['https'] },
  allowProtocolRelative: false,
  transformTags: { a: onlyWith('href', /^(?:https?:\/\/|mailto:)/i), img: onlyWith('src', /^https:\/\//i) },
  exclusiveFilter: ({ tag, attribs }) => tag === 'img' && attribs.src === undefined
}

const AS_TEXT: HtmlToTextOptions = {
  wordwrap: 78,
  formatters: {
    // The text shows the description of an image, because a reader cannot use its URL.
    description: ({ attribs }, _walk, builder) => builder.addInline(attribs.alt ?? ''),
    cell: ({ children }, walk, builder) => {
      walk(children, builder)
      builder.addInline(' ')
    }
  },
  selectors: [
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true, noAnchorUrl: true } },
    { selector: 'img', format: 'description' },
    { selector: 'table', format: 'block' },
    { selector: 'tr', format: 'block' },
    ...['td', 'th'].map((selector) => ({ selector, format: 'cell' })),
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } }))
  ]
}

/**
 * Sanitizes HTML for a mail (text, tables, links, images from https), and converts it to plain text that shows every
 * link. Returns the reason when that is impossible.
 */
export async function mailContent (body: string): Promise<EmailContent | { problem: string }> {
  // Loaded for the first mail, because most servers send none.
  const [{ default: sanitize }, { convert }] = await Promise.all([import('sanitize-html'), import('html-to-text')])
  let html: string
  try {
    html = sanitize(body, { ...ALLOWED, ...bounded() })
  } catch (err) {
    if (err instanceof TooMuch) return { problem: 'ha troppi elementi, o troppo annidati' }
    throw err
  }
  const text = convert(html, AS_TEXT)
  return /[\p{L}\p{N}\p{P}\p{S}]/u.test(text)
    ? { html, text }
    : { problem: 'non contiene alcun testo che si possa inviare' }
}

class TooMuch extends Error {}

/** Counts elements while parsing, and aborts at the limits. */
function bounded (): Pick<IOptions, 'onOpenTag' | 'onCloseTag'> {
  let depth = 0
  let elements = 0
  return {
    onOpenTag () {
      if (++depth > DEPTH_MAX || ++elements > ELEMENTS_MAX) throw new TooMuch()
    },
    onCloseTag () { depth-- }
  }
}

/** Drops URLs of another form, such as relative URLs, which have no base in a mail. */
function onlyWith (attribute: string, form: RegExp) {
  return (tagName: string, attribs: Record<string, string>) => ({
    tagName,
    attribs: Object.fromEntries(
      Object.entries(attribs).filter(([name, value]) => name !== attribute || form.test(value))
    )
  })
}
