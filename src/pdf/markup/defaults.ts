/** Points, where a document says nothing else. */
export const FONT_SIZE = 10.5
/** Lines are so many times as high as their letters. */
export const LINE_HEIGHT = 1.4
/** A quiet dark green, where a document names no colour. */
export const ACCENT = '#1f4e46'
/** Headings: their letters by the document's, and their lines. */
export const HEADINGS: Record<string, { scale: number, lineHeight: number }> = {
  h1: { scale: 2, lineHeight: 1.2 },
  h2: { scale: 1.4, lineHeight: 1.25 },
  h3: { scale: 1.15, lineHeight: 1.3 }
}
