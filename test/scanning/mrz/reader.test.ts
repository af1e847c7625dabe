import sharp from 'sharp'
import t from 'tap'
import { LAYOUTS } from '#src/scanning/mrz/layouts.ts'
import { brightest, type Gray } from '#src/scanning/mrz/reader/gray.ts'
import { readNetwork } from '#src/scanning/mrz/reader/network.ts'
import { readPicture } from '#src/scanning/mrz/reader/read-picture.ts'
import { writeZone, type ZoneValues } from './write-zone.ts'
import scene from '#src/scanning/ocr/scene.ts'
import { page } from '../ocr/pages.ts'
import { cases, LEVELS, pictureOf } from './reader/cases.ts'
import { clutter } from './reader/clutter.ts'
import { CLEAN, generator, photograph, type Shot, skip } from './reader/render.ts'
import { TODAY } from './samples.ts'

/* The MRZ reader on generated images: a small part of `npm run bench -- scanning`. */

const network = readNetwork(new URL('../../../src/scanning/mrz/reader/model/weights.bin', import.meta.url))
const words = await page(['Si ricorda ai gentili ospiti che la colazione', 'è servita dalle 7 e 30 alle 10'])
const hidden = await clutter(6, words)
const photographs = skip
  ? []
  : await Promise.all(cases(18, 7).map(async (each, n) => (
    { ...each, bytes: await pictureOf({ ...each, quarters: n % 4 }) })))

async function readingOf (bytes: Buffer) {
  const opened = await scene({ bytes, text: null })
  if (opened.fault !== null) throw new Error(opened.fault)
  return readPicture(opened.made.picture, network, TODAY)
}

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
  TD2: 'I',
  FRA: 'ID'
}

const zones = LAYOUTS.map((layout) => (
  { layout, lines: writeZone(layout, { ...HOLDER, code: CODES[layout.name] ?? 'P' }) }))

/** Photos taken by hand in poor light, the same in every run. Each one is used for two layouts. */
const shots: Shot[] = [11, 12, 13].map((seed) => {
  const random = generator(seed)
  const between = (min: number, max: number) => min + random() * (max - min)
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

/** A clean image with the smallest readable print. */
const SMALL: Shot = { ...CLEAN, size: 26 }

async function decode (picture: Buffer): Promise<Gray> {
  const { data, info } = await sharp(picture).raw().toBuffer({ resolveWithObject: true })
  return brightest(data, info.width, info.height)
}

const reading = (picture: Gray) => readPicture(picture, network, TODAY)

for (const level of LEVELS) {
  t.test(`reads zones of all layouts in all orientations: ${level}`, { skip }, async (t) => {
    const own = photographs.filter((each) => each.level === level)
    let exact = 0
    for (const { bytes, lines } of own) {
      const found = await readingOf(bytes)
      if (found?.lines.join() === lines.join()) exact++
      else t.notOk(found?.valid, 'a misread zone is not valid')
    }
    t.ok(exact >= (level === 'hard' ? 0.75 : 1) * own.length, `${exact} of ${own.length}`)
  })
}

t.test('finds no zone in noise, bars, tables and pages of text', async (t) => {
  for (const [n, bytes] of hidden.entries()) t.equal(await readingOf(bytes), undefined, `picture ${n}`)
})

for (const [n, { layout, lines }] of zones.entries()) {
  t.test(`reads a zone from an image and recognizes its layout: ${layout.name}`, { skip }, async (t) => {
    const found = reading(await decode(await photograph(lines, shots[n % shots.length]!)))
    t.same(found?.lines, lines)
    t.equal(found?.layout, layout)
    t.equal(found?.valid, true)
  })
}

t.test('reads wrong check digits as printed, and reports an invalid zone', { skip }, async (t) => {
  const [first, second, third] = zones[0]!.lines
  const wrong = [first!, second!.replace(/^.{7}/, '8002305'), third!]
  const found = reading(await decode(await photograph(wrong, SMALL)))
  t.same(found?.lines, wrong)
  t.equal(found?.valid, false)
})

t.test('a zone with wrong digits is not read as a zone with shorter lines', { skip }, async (t) => {
  const lines = ['P<FRAVERDI<<LUCA<MARIA<<<<<<<<<<<<<<<<<<<<<<', 'V123456780FRA8002295M3006300<<<<<<<<<<<<<<00']
  t.match(reading(await decode(await photograph(lines, SMALL))), { lines, valid: false, layout: { name: 'TD3' } })
})
