import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import sharp from 'sharp'
import t, { type Test } from 'tap'
import { build } from '#test/helper.ts'
import { behindStart, hostileFiles, MARK, pngOf, segment } from './hostile.ts'
import { jpeg, pdfOf, picture, png, webp } from './pictures.ts'

// Created first, because the library accepts no other formats after it has decoded an image.
const files = await hostileFiles()
const plain = { baseline: await jpeg(), grey: await picture().greyscale().jpeg().toBuffer() }
// Without a colour profile, which alone would prevent a copy.
const turned = [1, 2, 3, 4, 5, 6, 7, 8].map((turn) => behindStart(plain.baseline, segment(0xe1, Buffer.from(
  `4578696600004d4d002a0000000800010112000300000001000${turn}000000000000`, 'hex'
))))
const profiled = await picture().withIccProfile('p3').jpeg().toBuffer()
const large = await jpeg(800, 600)
const printed = await picture().toColourspace('cmyk').jpeg().toBuffer()
const converted = {
  heic: fixture('halves.heic'),
  avif: await picture().avif({ effort: 0 }).toBuffer(),
  tiff: await picture().tiff().toBuffer(),
  pdf: await pdfOf([[await jpeg()]]),
  'pdf of a PNG': await pdfOf([[await png()]])
}
const turnedPage = await pdfOf([[await jpeg()]], 90)
const black = { r: 0, g: 0, b: 0, alpha: 0 }
const transparent = await sharp({ create: { width: 8, height: 8, channels: 4, background: black } })
  .tiff({ compression: 'lzw' }).toBuffer()
const { app } = await build(t)

function fixture (name: string): Buffer {
  return readFileSync(new URL(`../../../fixtures/images/${name}`, import.meta.url))
}

const reencode = (bytes: Buffer, sideMax?: number, { images } = app) =>
  images.reencode(Buffer.from(bytes), { campo: 'file', caller: 'prova', sideMax })
const copy = (bytes: Buffer) => app.images.copy(Buffer.from(bytes), { campo: 'file', caller: 'prova' })

for (const { what, bytes, refusal } of files) {
  if (refusal) {
    t.test(`${what} is rejected with a 400 or 413 that says why`, async (t) => {
      for (const keep of [reencode, copy]) {
        const err = await keep(bytes).then(() => undefined, (err: Error & { statusCode?: number }) => err)
        t.equal(err?.statusCode, /al massimo 50 megapixel e/.test(err?.message ?? '') ? 413 : 400)
        t.match(err?.message, refusal)
      }
    })
  } else {
    t.test(`only the pixels of ${what} are kept`, async (t) => {
      for (const keep of [reencode, copy]) {
        const { bytes: kept } = await keep(bytes)
        t.notOk(kept.includes(MARK))
        const { format, exif, icc, xmp, iptc, comments } = await sharp(kept).metadata()
        t.ok(format !== 'jpeg' || kept.readUInt16BE(kept.length - 2) === 0xffd9, 'the end of the image')
        t.same([exif, icc, xmp, iptc, comments], [undefined, undefined, undefined, undefined, undefined])
      }
    })
  }
}

t.test('an image keeps its content and format', async (t) => {
  for (const [format, bytes] of [['jpeg', await jpeg()], ['png', await png()], ['webp', await webp()]] as const) {
    const made = await copy(bytes)
    t.match(made, { format, contentType: `image/${format}`, extension: format.replace('jpeg', 'jpg') })
    t.match(await sharp(made.bytes).metadata(), { format, width: 64, height: 48 })
    await matchesSides(t, made.bytes, ['red', 'blue'])
  }
})

t.test('an image of any of the eight EXIF orientations is rotated upright', async (t) => {
  for (const [index, bytes] of turned.entries()) {
    const { bytes: kept } = await copy(bytes)
    const { orientation, width, height } = await sharp(kept).metadata()
    t.equal(orientation, undefined)
    t.same([width, height], index < 4 ? [64, 48] : [48, 64], `orientation ${index + 1}`)
  }
  // Rotated by 180 degrees: left and right are swapped.
  await matchesSides(t, (await copy(turned[2]!)).bytes, ['blue', 'red'])
})

t.test('an upright JPEG is copied byte for byte, but for its metadata', async (t) => {
  for (const [what, bytes] of Object.entries(plain)) {
    t.ok((await copy(bytes)).bytes.equals(bytes), what)
    t.ok((await copy(behindStart(bytes, segment(0xfe, Buffer.from(MARK))))).bytes.equals(bytes), what)
  }
})

t.test('a JPEG whose decoding causes a warning is encoded again, without the cause', async (t) => {
  const half = Buffer.concat([large.subarray(0, large.length / 2), Buffer.from('ffd9', 'hex')])
  await t.rejects(sharp(half, { failOn: 'warning' }).raw().toBuffer())
  await sharp((await copy(half)).bytes, { failOn: 'warning' }).raw().toBuffer()
})

t.test('a JPEG keeps its colours if a profile or a longer segment states them', async (t) => {
  const adobe = behindStart(plain.baseline, segment(0xee, Buffer.from('Adobe\0d\0\0\0\0\0\0')))
  for (const bytes of [profiled, adobe]) {
    const [sent, kept] = await Promise.all([bytes, (await copy(bytes)).bytes].map(async (each) =>
      (await sharp(await sharp(each).png().toBuffer()).stats()).channels))
    for (const [n, { mean }] of sent!.entries()) t.ok(Math.abs(mean - kept![n]!.mean) < 3, String(n))
  }
})

t.test('a JPEG of four colour components is stored with three', async (t) => {
  t.match(await sharp((await copy(printed)).bytes).metadata(), { format: 'jpeg', channels: 3, space: 'srgb' })
})

t.test('a JPEG with changed bytes is rejected, or stored as a JPEG that can be decoded', async (t) => {
  const bytes = plain.baseline
  await fc.assert(fc.asyncProperty(fc.nat(bytes.length - 3), fc.integer({ min: 0, max: 255 }), async (at, value) => {
    const changed = Buffer.from(bytes).fill(value, at + 2, at + 3)
    const made = await copy(changed).catch(({ statusCode }: { statusCode?: number }) => statusCode)
    if (typeof made !== 'object') return t.equal(made === 413 ? 400 : made, 400)
    await sharp(made.bytes, { failOn: 'error' }).raw().toBuffer()
  }), { numRuns: 300 })
})

t.test('the colour profile of an image is removed', async (t) => {
  const { bytes } = await copy(profiled)
  t.equal((await sharp(bytes).metadata()).icc, undefined)
})

t.test('an image is reduced to 4,096 pixels a side, and a smaller one keeps its size', async (t) => {
  for (const [bytes, size] of [
    [pngOf(4096, 4095, 1, 0), [4096, 4095]],
    [pngOf(8192, 4096, 1, 0), [4096, 2048]],
    [pngOf(30, 12_000, 1, 0), [10, 4096]],
    [fixture('halves-48-megapixels.heic'), [4096, 3072]],
    [await jpeg(4096, 80), [4096, 80]],
    [await jpeg(5120, 80), [4096, 64]]
  ] as const) {
    for (const keep of [reencode, copy]) {
      const { width, height } = await sharp((await keep(bytes)).bytes).metadata()
      t.same([width, height], size)
    }
  }
})

t.test('a JPEG is reduced to a third that is at least half of IMAGE_SIDE_MAX, else to IMAGE_SIDE_MAX', async (t) => {
  const { app: larger } = await build(t, { IMAGE_SIDE_MAX: '6000' })
  for (const [width, ...sizes] of [[6143, 4096, 6000], [8064, 2688, 6000], [9000, 3000, 3000]] as const) {
    const bytes = await jpeg(width, 60)
    const kept = [await reencode(bytes), await reencode(bytes, undefined, larger)]
    t.same(await Promise.all(kept.map(async ({ bytes }) => (await sharp(bytes).metadata()).width)), sizes)
  }
})

for (const [source, bytes] of Object.entries(converted)) {
  t.test(`an image in ${source} is stored as JPEG with its content`, async (t) => {
    const made = await reencode(bytes)
    t.match(made, { source: source.replace(/ .*/, ''), format: 'jpeg', contentType: 'image/jpeg', extension: 'jpg' })
    t.match(await sharp(made.bytes).metadata(), { format: 'jpeg', width: 64, height: 48 })
    await matchesSides(t, made.bytes, ['red', 'blue'])
  })
}

t.test('the rotation of a PDF page turns its image', async (t) => {
  t.match(await sharp((await reencode(turnedPage)).bytes).metadata(), { width: 48, height: 64 })
})

t.test('a transparent image that is stored as JPEG gets a white background', async (t) => {
  const { data } = await sharp((await reencode(transparent)).bytes).raw().toBuffer({ resolveWithObject: true })
  t.ok(data[0]! > 250, String(data[0]))
})

t.test('an image is scaled down to the requested size, and never scaled up', async (t) => {
  t.match(await sharp((await reencode(await jpeg(2000, 1000), 512)).bytes).metadata(), { width: 512, height: 256 })
  t.match(await sharp((await reencode(await jpeg(64, 48), 512)).bytes).metadata(), { width: 64, height: 48 })
})

/** Asserts the colours of the left and the right half. */
async function matchesSides (t: Test, bytes: Buffer, colours: readonly ['red' | 'blue', 'red' | 'blue']) {
  const { data, info } = await sharp(bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true })
  const row = Math.floor(info.height / 2) * info.width
  for (const [n, colour] of colours.entries()) {
    const [red = 0, , blue = 0] = data.subarray(3 * (row + Math.floor(info.width * (n + 0.5) / 2)))
    t.equal(red > blue ? 'red' : 'blue', colour)
  }
}
