import { createRequire } from 'node:module'
import PDFDocument from 'pdfkit'

/* The same letter and table drawn directly with pdfkit: no template, markup or layout. */

const { resolve } = createRequire(import.meta.url)
const font = (path: string) => resolve(`@expo-google-fonts/${path}.ttf`)
const SANS = font('noto-sans/400Regular/NotoSans_400Regular')
const BOLD = font('noto-sans/700Bold/NotoSans_700Bold')
const SERIF = font('lora/400Regular/Lora_400Regular')

/** Draws a letter with the same texts as Locanda's. */
export function drawLetter (paragraphs: readonly string[]): Promise<Buffer> {
  const pdf = new PDFDocument({ size: 'A4', margin: 58, compress: true })
  const bytes = collect(pdf)
  pdf.font(SERIF).fontSize(24).text('Locanda di prova', { align: 'center' }).moveDown()
  for (const paragraph of paragraphs) pdf.fontSize(10.5).text(paragraph, { lineGap: 4 }).moveDown()
  pdf.end()
  return bytes
}

const SHEET = { width: 842, height: 595, margin: 42 }
const ROW = 16

/** Draws a table: the head on every page, one line per row, numbers right-aligned. */
export function drawTable (titles: readonly string[], rows: readonly (readonly string[])[]): Promise<Buffer> {
  const pdf = new PDFDocument({ size: [SHEET.width, SHEET.height], margin: 0, compress: true, autoFirstPage: false })
  const bytes = collect(pdf)
  const width = (SHEET.width - SHEET.margin * 2) / titles.length
  const draw = (cells: readonly string[], y: number, face: string) => {
    pdf.font(face).fontSize(8)
    cells.forEach((text, at) => {
      const slack = at < 4 ? 0 : width - 10 - pdf.widthOfString(text)
      pdf.text(text, SHEET.margin + at * width + 5 + slack, y, { lineBreak: false })
    })
  }
  const perPage = Math.floor((SHEET.height - SHEET.margin * 2) / ROW) - 1
  for (let start = 0; start < rows.length; start += perPage) {
    pdf.addPage()
    draw(titles, SHEET.margin, BOLD)
    rows.slice(start, start + perPage).forEach((cells, at) => {
      const y = SHEET.margin + (at + 1) * ROW
      draw(cells, y, SANS)
      const below = y + ROW - 3
      pdf.lineWidth(0.5).moveTo(SHEET.margin, below).lineTo(SHEET.width - SHEET.margin, below).stroke('#d6d9dc')
    })
  }
  pdf.end()
  return bytes
}

function collect (pdf: PDFKit.PDFDocument): Promise<Buffer> {
  const pieces: Buffer[] = []
  return new Promise((resolve, reject) => {
    pdf.on('data', (piece: Buffer) => pieces.push(piece))
    pdf.on('end', () => resolve(Buffer.concat(pieces)))
    pdf.on('error', reject)
  })
}
