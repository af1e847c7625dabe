/** What a receipt says: how many schedine, and their nights together. Null where the text does not say it. */
export interface ReceiptTotals { schedine: number | null, notti: number | null }

/** The two lines of a real receipt (an aggregate: it names nobody). */
const SCHEDINE = /SCHEDINE\s+INVIATE\s*:?\s*(\d+)/i
const NOTTI = /GG\.?\s+PERMANENZA\s+PRESUNTA\s+TOT\.?\s*:?\s*(\d+)/i

/**
 * Reads the totals from the text of a receipt's PDF; a PDF that cannot be read gives nulls, for it is kept all the
 * same.
 */
export async function readReceipt (pdf: Buffer): Promise<ReceiptTotals> {
  try {
    const text = await pdfText(pdf)
    return { schedine: number(SCHEDINE, text), notti: number(NOTTI, text) }
  } catch {
    return { schedine: null, notti: null }
  }
}

/** The PDF reader is large: it is loaded when the first receipt comes. */
async function pdfText (pdf: Buffer): Promise<string> {
  const { getDocument, VerbosityLevel } = await import('pdfjs-dist/legacy/build/pdf.mjs')
  const task = getDocument({
    data: new Uint8Array(pdf),
    verbosity: VerbosityLevel.ERRORS,
    isEvalSupported: false,
    useSystemFonts: false
  })
  try {
    const document = await task.promise
    const pages = Array.from({ length: document.numPages }, async (_, at) => {
      const { items } = await (await document.getPage(at + 1)).getTextContent()
      return items.map((item) => 'str' in item ? item.str : '').join(' ')
    })
    return (await Promise.all(pages)).join('\n')
  } finally {
    await task.destroy()
  }
}

function number (pattern: RegExp, text: string): number | null {
  const digits = pattern.exec(text)?.[1]
  return digits === undefined ? null : Number(digits)
}
