/** What a receipt counts: the schedine, and the sum of their nights. Null where the text does not say it. */
export interface ReceiptTotals { schedine: number | null, notti: number | null }

/* The two lines of a real receipt: it only counts, and holds no names. */
const SCHEDINE = /SCHEDINE\s+INVIATE\s*:?\s*(\d+)/i
const NIGHTS = /GG\.?\s+PERMANENZA\s+PRESUNTA\s+TOT\.?\s*:?\s*(\d+)/i

/** Reads the totals from the text of a receipt's PDF. A PDF that cannot be read gives nulls: it is kept anyway. */
export async function readTotals (pdf: Buffer): Promise<ReceiptTotals> {
  try {
    const text = await extractText(pdf)
    return { schedine: findNumber(SCHEDINE, text), notti: findNumber(NIGHTS, text) }
  } catch {
    return { schedine: null, notti: null }
  }
}

/** The PDF reader is large: it is loaded when the first receipt comes. */
async function extractText (pdf: Buffer): Promise<string> {
  const { getDocument, VerbosityLevel } = await import('unpdf/pdfjs')
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
      return items.filter((item) => 'str' in item).map(({ str }) => str).join(' ')
    })
    return (await Promise.all(pages)).join('\n')
  } finally {
    await task.destroy()
  }
}

function findNumber (pattern: RegExp, text: string): number | null {
  const digits = pattern.exec(text)?.[1]
  return digits === undefined ? null : Number(digits)
}
