import { readFileSync } from 'node:fs'
import { constants, crc32, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import sharp from 'sharp'
import { jpeg, pdfOf, picture, png, webp, withPlace } from './pictures.ts'

/** A file that must be rejected, or of which only the pixels may be stored. */
interface HostileFile {
  what: string
  bytes: Buffer
  /** The expected error message. Undefined when the image is accepted without its extra content. */
  refusal?: RegExp
}

const FORMAT = /non è un’immagine JPEG, PNG/
const DAMAGED = /danneggiata o incompleta/
const LARGE = /pixel: al massimo 50 megapixel e 12000 pixel per lato$/
const PDF = /è un PDF: serve una pagina sola/
const FRAMES = /animazione/

/** A text that must not occur in the stored image. */
export const MARK = 'SEGRETO-4711'

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert('${MARK}')</script></svg>`
const HTML = `<!doctype html><script>alert('${MARK}')</script>`

/** All hostile files of the tests, generated here. */
export async function hostileFiles (): Promise<HostileFile[]> {
  const [photo, drawing, still] = [await jpeg(200, 150), await png(200, 150), await webp(200, 150)]
  return [
    ...otherFormats(),
    ...await otherImages(),
    ...await pdfs(photo),
    ...polyglots(photo, drawing, still),
    ...await metadata(photo),
    ...damaged(photo, drawing, still),
    ...bombs(),
    ...await frames(drawing),
    {
      what: 'a JPEG of many scans',
      bytes: scans(await picture(64, 64).jpeg({ progressive: true }).toBuffer(), 5000),
      refusal: DAMAGED
    }
  ]
}

function otherFormats (): HostileFile[] {
  const texts: [string, string | Buffer][] = [
    ['an empty file', ''],
    ['one byte', 'x'],
    ['a text', 'ciao '.repeat(100)],
    ['an SVG', SVG],
    ['an SVG after a byte order mark', `\ufeff${SVG}`],
    ['an SVG that names a file', `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>${SVG}`],
    ['a compressed SVG', gzipSync(SVG)],
    ['an HTML page', HTML],
    ['a PostScript file', '%!PS-Adobe-3.0 EPSF-3.0\n(x) run\n'],
    ['a ZIP', Buffer.from('504b0506000000000000000000000000000000000000', 'hex')],
    ['a program', Buffer.concat([Buffer.from('\x7fELF\x02\x01\x01', 'latin1'), Buffer.alloc(64)])],
    ['a script for ImageMagick', 'push graphic-context\nimage over 0,0 0,0 "https://127.0.0.1/x.jpg"\n'],
    ['an MP4', Buffer.from('000000186674797069736f6d0000020069736f6d61766331', 'hex')],
    ['a Windows bitmap', Buffer.concat([Buffer.from('BM'), Buffer.alloc(80, 1)])],
    ['an icon', Buffer.from('00000100010010100000010020006804000016000000', 'hex')],
    ['a PPM', 'P3\n2 2\n255\n' + '1 2 3 '.repeat(4)],
    ['a PSD', Buffer.concat([Buffer.from('8BPS\0\x01'), Buffer.alloc(40)])],
    ['only the first bytes of a JPEG', Buffer.from('ffd8ffe000104a46', 'hex')]
  ]
  return texts.map(([what, content]) => ({
    what, bytes: Buffer.from(content as string), refusal: what.startsWith('only') ? DAMAGED : FORMAT
  }))
}

async function otherImages (): Promise<HostileFile[]> {
  const heic = readFileSync(new URL('../../../fixtures/images/halves.heic', import.meta.url))
  return [
    { what: 'an image in GIF', bytes: await picture().gif().toBuffer(), refusal: FORMAT },
    { what: 'a HEIC without its end', bytes: heic.subarray(0, 700), refusal: DAMAGED },
    { what: 'a TIFF without its end', bytes: (await picture().tiff().toBuffer()).subarray(0, 300), refusal: FORMAT }
  ]
}

async function pdfs (photo: Buffer): Promise<HostileFile[]> {
  const empty = '%PDF-1.7\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF'
  const whole = await pdfOf([[photo]])
  return [
    { what: 'a PDF without pages', bytes: Buffer.from(empty), refusal: DAMAGED },
    { what: 'a PDF without its second half', bytes: whole.subarray(0, whole.length / 2), refusal: /PDF|danneggiata/ },
    { what: 'a PDF of two pages', bytes: await pdfOf([[photo], [photo]]), refusal: PDF },
    { what: 'a PDF of two images', bytes: await pdfOf([[photo, await jpeg(100, 75)]]), refusal: PDF },
    { what: 'a PDF of text', bytes: await pdfOf([[]]), refusal: PDF },
    { what: 'a small PDF whose page unpacks to gigabytes', bytes: packedPdf(), refusal: /troppo complessa/ }
  ]
}

/** A PDF of one page, whose content is two gigabytes of blanks. */
function packedPdf (): Buffer {
  const blanks = deflateRawSync(Buffer.alloc(2 ** 24, ' '), { finishFlush: constants.Z_FULL_FLUSH })
  const [start, end] = [Buffer.from('789c', 'hex'), Buffer.from('0300', 'hex')]
  const content = Buffer.concat([start, ...Array<Buffer>(128).fill(blanks), end])
  return Buffer.concat([
    Buffer.from('%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n' +
      '2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n' +
      '3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>endobj\n' +
      `4 0 obj<</Filter/FlateDecode/Length ${content.length}>>stream\n`),
    content,
    Buffer.from('\nendstream endobj\ntrailer<</Root 1 0 R>>\n%%EOF')
  ])
}

/** Polyglots: image files that are also another format. Only the image is kept. */
function polyglots (photo: Buffer, drawing: Buffer, still: Buffer): HostileFile[] {
  const comment = Buffer.from(HTML)
  const text = Buffer.from(`${MARK}!!`)
  const tables = `\x03${MARK.padEnd(64)}`.repeat(16)
  const twice = behindStart(photo, segment(0xdb, text)).subarray(2)
  const zip = Buffer.from(`PK\x03\x04${MARK}PK\x05\x06`, 'latin1')
  return [
    { what: 'a JPEG with a page in a comment', bytes: behindStart(photo, segment(0xfe, comment)) },
    { what: 'a JPEG with a page behind it', bytes: Buffer.concat([photo, comment]) },
    { what: 'a JPEG with a ZIP behind it', bytes: Buffer.concat([photo, zip]) },
    { what: 'a JPEG with another one before its end', bytes: Buffer.concat([photo.subarray(0, -2), twice]) },
    { what: 'a JPEG with a text as long as a JFIF header', bytes: behindStart(photo, segment(0xe0, text)) },
    { what: 'a JPEG with a kilobyte of text in tables', bytes: behindStart(photo, segment(0xdb, Buffer.from(tables))) },
    { what: 'a JPEG with another one behind it', bytes: Buffer.concat([photo, photo, Buffer.from(MARK)]) },
    { what: 'a PNG with an SVG in a text', bytes: withChunk(drawing, 'tEXt', Buffer.from(`Comment\0${SVG}`)) },
    { what: 'a PNG with an SVG behind it', bytes: Buffer.concat([drawing, Buffer.from(SVG)]) },
    { what: 'a PNG with an unknown chunk', bytes: withChunk(drawing, 'zzZz', Buffer.from(HTML)) },
    { what: 'a WebP with a page behind it', bytes: Buffer.concat([still, comment]) },
    { what: 'a page before a JPEG', bytes: Buffer.concat([comment, photo]), refusal: FORMAT }
  ]
}

async function metadata (photo: Buffer): Promise<HostileFile[]> {
  const xmp = Buffer.from(`http://ns.adobe.com/xap/1.0/\0<x:xmpmeta>${MARK}</x:xmpmeta>`)
  const icc = Buffer.concat(Array.from({ length: 40 }, (_, n) => segment(0xe2, Buffer.concat([
    Buffer.from('ICC_PROFILE\0'), Buffer.from([n + 1, 40]), Buffer.alloc(60_000, MARK)
  ]))))
  return [
    { what: 'a JPEG that names its photographer', bytes: await withPlace(MARK) },
    { what: 'a JPEG with XMP', bytes: behindStart(photo, segment(0xe1, xmp)) },
    { what: 'a JPEG with a huge invalid colour profile', bytes: behindStart(photo, icc) }
  ]
}

function damaged (photo: Buffer, drawing: Buffer, still: Buffer): HostileFile[] {
  const checksum = Buffer.from(drawing)
  checksum[drawing.indexOf('IDAT') + 10]! ^= 0xff
  return [
    { what: 'half a JPEG', bytes: photo.subarray(0, photo.length / 2), refusal: DAMAGED },
    { what: 'half a PNG', bytes: drawing.subarray(0, drawing.length / 2), refusal: DAMAGED },
    { what: 'half a WebP', bytes: still.subarray(0, still.length / 2), refusal: DAMAGED },
    { what: 'a PNG whose pixels were changed', bytes: checksum, refusal: DAMAGED },
    { what: 'a PNG without pixels', bytes: pngOf(10, 10, 1, 0, Buffer.alloc(0)), refusal: DAMAGED },
    { what: 'a PNG of no size', bytes: pngOf(0, 0, 1, 0), refusal: DAMAGED }
  ]
}

/** Small files that declare a large image. */
export function bombs (): HostileFile[] {
  return [
    { what: 'a PNG of 16,000 by 16,000 in black and white', bytes: pngOf(16_000, 16_000, 1, 0), refusal: LARGE },
    { what: 'a PNG of 30,000 by 30,000', bytes: pngOf(30_000, 30_000, 8, 6, Buffer.alloc(0)), refusal: LARGE },
    {
      what: 'a PNG of two billion pixels by one',
      bytes: pngOf(0x7fffffff, 1, 1, 0, Buffer.alloc(0)),
      refusal: /al massimo 50 megapixel|danneggiata/
    },
    { what: 'a PNG that is one pixel too wide', bytes: pngOf(12_001, 10, 1, 0), refusal: LARGE },
    { what: 'a PNG a little over 50 megapixels', bytes: pngOf(10_001, 5000, 1, 0), refusal: LARGE },
    { what: 'a JPEG of 65,500 by 65,500', bytes: jpegOfSize(65_500, 65_500), refusal: LARGE }
  ]
}

async function frames (drawing: Buffer): Promise<HostileFile[]> {
  const animation = sharp(Buffer.concat([Buffer.alloc(64 * 64 * 3, 1), Buffer.alloc(64 * 64 * 3, 200)]), {
    raw: { width: 64, height: 128, channels: 3, pageHeight: 64 }
  })
  const control = Buffer.alloc(8)
  control.writeUInt32BE(2, 0)
  return [
    { what: 'a PNG of several frames', bytes: withChunk(drawing, 'acTL', control), refusal: FRAMES },
    { what: 'a WebP of several frames', bytes: await animation.webp().toBuffer(), refusal: FRAMES }
  ]
}

/** A PNG with this header. By default its pixels are 0. */
export function pngOf (width: number, height: number, depth: number, colour: number, pixels?: Buffer): Buffer {
  const channels = colour === 6 ? 4 : 1
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([depth, colour, 0, 0, 0], 8)
  const row = 1 + Math.ceil(width * depth * channels / 8)
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(pixels ?? Buffer.alloc(row * height), { level: 9 })),
    chunk('IEND', Buffer.alloc(0))
  ])
}

function chunk (name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name), data])
  const made = Buffer.alloc(body.length + 8)
  made.writeUInt32BE(data.length, 0)
  body.copy(made, 4)
  made.writeUInt32BE(crc32(body), body.length + 4)
  return made
}

/** Inserts a chunk before the pixels. */
function withChunk (image: Buffer, name: string, data: Buffer): Buffer {
  const at = image.indexOf('IDAT') - 4
  return Buffer.concat([image.subarray(0, at), chunk(name, data), image.subarray(at)])
}

export function segment (marker: number, data: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0])
  head.writeUInt16BE(data.length + 2, 2)
  return Buffer.concat([head, data])
}

export function behindStart (image: Buffer, added: Buffer): Buffer {
  return Buffer.concat([image.subarray(0, 2), added, image.subarray(2)])
}

/** The header of a JPEG without image data. */
function jpegOfSize (width: number, height: number): Buffer {
  const frame = Buffer.from([8, 0, 0, 0, 0, 1, 1, 0x11, 0])
  frame.writeUInt16BE(height, 1)
  frame.writeUInt16BE(width, 3)
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xdb, Buffer.concat([Buffer.from([0]), Buffer.alloc(64, 1)])),
    segment(0xc0, frame),
    segment(0xc4, Buffer.concat([Buffer.from([0, 1]), Buffer.alloc(15), Buffer.from([0])])),
    segment(0xda, Buffer.from([1, 1, 0, 0, 63, 0])),
    Buffer.from([0xff, 0xd9])
  ])
}

/** A progressive JPEG with its last scan repeated. Each scan is decoded over the whole image. */
function scans (image: Buffer, count: number): Buffer {
  const last = image.lastIndexOf(Buffer.from([0xff, 0xda]))
  const end = image.lastIndexOf(Buffer.from([0xff, 0xd9]))
  const again = Array.from({ length: count }, () => image.subarray(last, end))
  return Buffer.concat([image.subarray(0, end), ...again, image.subarray(end)])
}
