import sharp from 'sharp'

/** A page of printed lines, as JPEG. */
export async function page (lines: readonly string[], { width = 1200, dpi = 190 } = {}): Promise<Buffer> {
  const text = lines.join('\n').replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const print = await sharp({ text: { text, font: 'DejaVu Sans', dpi, rgba: true } }).png().toBuffer()
  const { width: printed = 1, height = 1 } = await sharp(print).metadata()
  const margin = 60
  return await sharp({
    create: {
      width: Math.max(width, printed + 2 * margin), height: height + 2 * margin, channels: 3, background: 'white'
    }
  }).composite([{ input: print, left: margin, top: margin }]).jpeg({ quality: 92 }).toBuffer()
}
