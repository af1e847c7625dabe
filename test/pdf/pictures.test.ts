import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import t from 'tap'
import { temporaryFolder } from '#test/helper.ts'
import { make, samples } from './pictures.ts'

/*
 * How the product's templates look, against pictures that somebody has approved. A wanted change is put on record with
 * RENEW=1, and looked at.
 */

const APPROVED = new URL('../../fixtures/pdf/', import.meta.url)
const isDrawn = spawnSync('pdftoppm', ['-v']).error === undefined
const options = { skip: !isDrawn && 'pdftoppm is not installed' }
const renew = process.env.RENEW === '1'

/** Of 255, on average over the picture: versions of the program draw edges of letters otherwise. */
const TOLERANCE = 0.6

const folder = temporaryFolder(t)
const drawn = new Map<string, Buffer>()

/** The first page, small and grey. */
function draw (name: string, pdf: Uint8Array): Buffer {
  const file = join(folder, name)
  writeFileSync(`${file}.pdf`, pdf)
  execFileSync('pdftoppm', ['-r', '48', '-gray', '-png', '-f', '1', '-l', '1', '-singlefile', `${file}.pdf`, file])
  return readFileSync(`${file}.png`)
}

/** How far two pictures of the same size are apart, on average; infinitely, where they have not. */
async function distance (one: Buffer, other: Buffer): Promise<number> {
  const [a, b] = await Promise.all([one, other].map((picture) =>
    sharp(picture).greyscale().blur(1).raw().toBuffer({ resolveWithObject: true })))
  if (a!.info.width !== b!.info.width || a!.info.height !== b!.info.height) return Infinity
  return a!.data.reduce((sum, value, at) => sum + Math.abs(value - b!.data[at]!), 0) / a!.data.length
}

for (const [name, job] of Object.entries(samples())) {
  t.test(`it looks as it was approved: ${name}`, options, async (t) => {
    const picture = draw(name, await make(job))
    drawn.set(name, picture)
    const approved = new URL(`${name}.png`, APPROVED)
    if (renew) writeFileSync(approved, await sharp(picture).png({ palette: true, colours: 16 }).toBuffer())
    const far = await distance(picture, readFileSync(approved))
    t.ok(far < TOLERANCE, `${far.toFixed(2)} of ${TOLERANCE}`)
  })
}

t.test('another language, a missing logo or a shifted line is seen', options, async (t) => {
  const [it, en, bare] = ['letter-it', 'letter-en', 'letter-bare'].map((name) => drawn.get(name)!)
  const { width, height } = await sharp(it).metadata()
  const shifted = await sharp(it).extract({ left: 0, top: 4, width, height: height - 4 })
    .extend({ bottom: 4, background: 'white' }).png().toBuffer()
  for (const other of [en!, bare!, shifted]) {
    const far = await distance(it!, other)
    t.ok(far > 2 * TOLERANCE, far.toFixed(2))
  }
})
