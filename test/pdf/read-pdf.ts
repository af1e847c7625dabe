import { getDocument, VerbosityLevel } from 'unpdf/pdfjs'

/**
 * The text of each page, as a reader of PDFs finds it; blanks joined, and what is drawn by its position left out.
 * `from` and `to` are those of `slice`: of a long document not all pages need be read.
 */
export async function readPages (pdf: Uint8Array, from = 0, to = Infinity): Promise<string[]> {
  const task = getDocument({
    data: new Uint8Array(pdf),
    verbosity: VerbosityLevel.ERRORS,
    isEvalSupported: false,
    useSystemFonts: false
  })
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

export const DATE = new Date('2026-11-23T00:00:00Z')

/** A template with one page around some content. */
export function pageWith (content: string, attributes = ''): string {
  return `<document${attributes}><page>${content}</page></document>`
}
