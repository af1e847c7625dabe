import sharp from 'sharp'
import t from 'tap'
import { brightest, turned, type Gray } from '#src/scanning/mrz/reader/gray.ts'
import { readNetwork } from '#src/scanning/mrz/reader/network.ts'
import { readPicture } from '#src/scanning/mrz/reader/read-picture.ts'
import { LAYOUTS } from '#src/scanning/mrz/layouts.ts'
import { writeZone, type ZoneValues } from '#src/scanning/mrz/write.ts'
import { TODAY } from '../samples.ts'
import { CLEAN, generator, photograph, skip, type Shot } from './render.ts'

const network = readNetwork(new URL('../../../../src/scanning/mrz/reader/model/weights.bin', import.meta.url))

const HOLDER: ZoneValues = {
  code: 'P',
  issuer: 'FRA',
  surname: 'VERDI',
  given: 'LUCA MARIA',
  number: 'V0O12B8S5',
  nationality: 'FRA',
  birth: '1980-02-29',
  sex: 'M',
  expiry: '2030-06-30',
  optional: 'Z20I1',
  further: ''
}
const CODES: Partial<Record<(typeof LAYOUTS)[number]['name'], string>> = {
  'MRV-A': 'V',
  'MRV-B': 'VC',
  TD1: 'ID',
  FRA: 'ID'
}

const zones = LAYOUTS.map((layout) => (
  { layout, lines: writeZone(layout, { ...HOLDER, code: CODES[layout.name] ?? 'P' }) }))

/**
 * Shots by hand under poor light: the same for every run. Each is that of two layouts; clean
 * ones of all are in `accuracy.test.ts`.
 */
const shots: Shot[] = [11, 12, 13].map((seed) => {
  const random = generator(seed)
  const between = (least: number, most: number) => least + random() * (most - least)
  return {
    size: Math.round(between(18, 44)),
    angle: between(-9, 9),
    blur: between(0.3, 1.2),
    noise: between(2, 14),
    ink: Math.round(between(10, 70)),
    card: Math.round(between(170, 240)),
    quality: Math.round(between(55, 90)),
    seed
  }
})

/** Clean, and no larger than it takes to read it. */
const SMALL: Shot = { ...CLEAN, size: 26 }

async function decode (picture: Buffer): Promise<Gray> {
  const { data, info } = await sharp(picture).raw().toBuffer({ resolveWithObject: true })
  return brightest(data, info.width, info.height)
}

const reading = (picture: Gray) => readPicture(picture, network, TODAY)

for (const [n, { layout, lines }] of zones.entries()) {
  t.test(`a zone is read from a picture, and told to be of its layout: ${layout.name}`, { skip }, async (t) => {
    const found = reading(await decode(await photograph(lines, shots[n % shots.length]!)))
    t.same(found?.lines, lines)
    t.equal(found?.layout, layout)
    t.equal(found?.valid, true)
  })
}

t.test('a picture is read whichever way it is held', { skip }, async (t) => {
  const { lines } = zones[0]!
  const upright = await decode(await photograph(lines, SMALL))
  for (const quarters of [1, 2, 3] as const) t.same(reading(turned(upright, quarters))?.lines, lines, String(quarters))
})

t.test('wrong digits of a document are read as they are printed, and the zone is not valid', { skip }, async (t) => {
  const [first, second, third] = zones[0]!.lines
  const wrong = [first!, second!.replace(/^.{7}/, '8002305'), third!]
  const found = reading(await decode(await photograph(wrong, SMALL)))
  t.same(found?.lines, wrong)
  t.equal(found?.valid, false)
})

t.test('a zone whose digits are all wrong is not taken for one of shorter lines', { skip }, async (t) => {
  const lines = ['P<FRAVERDI<<LUCA<MARIA<<<<<<<<<<<<<<<<<<<<<<', 'V123456780FRA8002295M3006300<<<<<<<<<<<<<<00']
  t.match(reading(await decode(await photograph(lines, SMALL))), { lines, valid: false, layout: { name: 'TD3' } })
})

t.test('what is no zone is not read as one', { skip }, async (t) => {
  const letter = [
    'Dear guests, breakfast is served from half past seven',
    'until ten in the garden room, and we wish you a',
    'pleasant stay'
  ]
  const numbers = ['12/03/2026 4 7731 0042 118,50 EUR 22% 9,00', '13/03/2026 4 7731 0043 118,50 EUR 22% 9,00']
  const words = [letter, letter.slice(0, 2), numbers]
  for (const lines of words) t.equal(reading(await decode(await photograph(lines, SMALL))), undefined, lines.join(' '))
})

t.test('a picture of nothing, or of noise, has no zone, whatever its size', async (t) => {
  const random = generator(5)
  for (const [width, height] of [[1, 1], [3, 200], [200, 3], [320, 200]] as const) {
    const blank = { data: new Uint8Array(width * height).fill(200), width, height }
    const noise = { data: blank.data.map(() => random() * 256), width, height }
    t.equal(reading(blank), undefined, `${width}x${height}`)
    t.equal(reading(noise), undefined, `${width}x${height} of noise`)
  }
})
