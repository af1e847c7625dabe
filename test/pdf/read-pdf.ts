import { getDocument, VerbosityLevel } from 'unpdf/pdfjs'

/**
 * Extracts the text of each page, with whitespace joined. `from` and `to` work as in `slice`, for parts of long
 * documents.
 */
export async function readPages (pdf: Uint8Array, from = 0, to = Infinity): Promise<string[]> {
  const task = open(pdf)
  try {
    const document = await task.promise
    const pages: string[] = []
    const numbers = Array.from({ length: document.numPages }, (_, at) => at + 1).slice(from, to)
    for (const number of numbers) {
      const { items } = await (await document.getPage(number)).getTextContent()
      const text = items.map((item) => 'str' in item ? item.str + (item.hasEOL ? ' ' : '') : '').join('')
      pages.push(text.replace(/[\s\u00A0]+/g, ' ').trim())
    }
    return pages
  } finally {
    await task.destroy()
  }
}

/** The title in the properties of the PDF. */
export async function titleOf (pdf: Uint8Array): Promise<unknown> {
  const task = open(pdf)
  try {
    const { info } = await (await task.promise).getMetadata()
    return (info as { Title?: unknown }).Title
  } finally {
    await task.destroy()
  }
}

function open (pdf: Uint8Array) {
  return getDocument({
    data: new Uint8Array(pdf),
    verbosity: VerbosityLevel.ERRORS,
    isEvalSupported: false,
    useSystemFonts: false
  })
}

export const DATE = new Date('2026-11-23T00:00:00Z')

/** Wraps content in a one-page template. */
export function pageWith (content: string, attributes = ''): string {
  return `<document${attributes}><page>${content}</page></document>`
}
