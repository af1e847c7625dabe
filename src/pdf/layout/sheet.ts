import type { Checked } from '../markup/check-markup.ts'
import type { Values } from '../markup/elements.ts'

/** Paper sizes in points, portrait. */
const SIZES = { A3: [841.89, 1190.55], A4: [595.28, 841.89], A5: [419.53, 595.28], LETTER: [612, 792] } as const
const MARGIN = 48
const HEADER = 36
const FOOTER = 28

/** The paper of a page, and the area for its content. */
export interface Sheet {
  size: [width: number, height: number]
  margin: number
  headerHeight: number
  footerHeight: number
  body: { width: number, height: number }
}

type SheetValues = Pick<Values<'page'>, 'size' | 'orientation' | 'margin'>

/** The paper of a page. Attributes of the page override those of the document. */
export function sheetOf (page: Checked<'page'>, document: SheetValues): Sheet {
  const { size: name = 'A4', orientation = 'portrait', margin: wanted = MARGIN } = { ...document, ...page.values }
  const [short, long] = SIZES[name]
  const [width, height] = orientation === 'portrait' ? [short, long] : [long, short]
  // Left and right margin leave at least a third of the width for the content.
  const margin = Math.min(wanted, width / 3)
  const headerHeight = stripHeight(page, 'header', HEADER, height)
  const footerHeight = stripHeight(page, 'footer', FOOTER, height)
  return {
    size: [width, height],
    margin,
    headerHeight,
    footerHeight,
    body: { width: width - margin * 2, height: height - margin * 2 - headerHeight - footerHeight - 1 }
  }
}

/** The height of a header or footer. Zero when the page has none. */
function stripHeight (page: Checked<'page'>, name: 'header' | 'footer', usual: number, paper: number): number {
  const strip = page.children.find((child) => child.name === name) as Checked<typeof name> | undefined
  return strip === undefined ? 0 : Math.min(strip.values.height ?? usual, paper / 6)
}
