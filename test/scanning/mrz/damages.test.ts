import sharp from 'sharp'
import t from 'tap'
import { layoutOf } from '#src/scanning/mrz/layouts.ts'
import { readNetwork } from '#src/scanning/mrz/reader/network.ts'
import { readPicture } from '#src/scanning/mrz/reader/read-picture.ts'
import scene from '#src/scanning/ocr/scene.ts'
import { damagedPictures, ROWS, TOO_SLANTED } from './reader/damages.ts'
import { CLEAN, photograph, skip } from './reader/render.ts'
import { TODAY } from './samples.ts'

/* Damaged photographs: a few of each kind of `npm run bench -- accuracy`. */

const network = readNetwork(new URL('../../../src/scanning/mrz/reader/model/weights.bin', import.meta.url))

async function readingOf (bytes: Buffer) {
  const opened = await scene({ bytes, text: null })
  if (opened.fault !== null) throw new Error(opened.fault)
  return readPicture(opened.made.picture, network, TODAY)
}

const READ = ['hard shadow', 'shear 15°', 'tilt 35°', 'perspective 15 %', 'barrel 6 %', 'a fifth of 12 megapixels']
const HIDDEN = ['finger over the right end', 'cut off at the right end', 'worn', 'half size, blur 2.5']
/** Few, because a picture without a readable zone is searched in all directions. */
const COUNT = 2

for (const row of ROWS.filter(({ name }) => READ.includes(name))) {
  t.test(`reads zones exactly in pictures with ${row.name}`, { skip }, async (t) => {
    for await (const { lines, bytes } of damagedPictures(row, COUNT)) {
      const found = await readingOf(bytes)
      t.same(found?.lines, lines)
      t.equal(found?.valid, true)
    }
  })
}

for (const row of ROWS.filter(({ name }) => HIDDEN.includes(name))) {
  t.test(`a misread zone is invalid, even with right check digits: ${row.name}`, { skip }, async (t) => {
    for await (const { lines, bytes } of damagedPictures(row, COUNT)) {
      const found = await readingOf(bytes)
      if (found?.lines.join() === lines.join()) continue
      t.not(found?.valid, true, found?.lines.join(' ') ?? 'no zone')
      if (found?.isCorrect) t.ok(found.doubts > 0 && found.faults.length > 0, 'a reason is given')
    }
  })
}

/** The picture of a row with a number. */
async function damagedPicture (name: string, number: number) {
  const row = ROWS.find((each) => each.name === name)!
  const pictures = []
  for await (const picture of damagedPictures(row, number + 1)) pictures.push(picture)
  return pictures[number]!
}

const SEEN_ENOUGH = [
  ['a reflection hides only fillers after a name', 'glare', 0],
  ['a finger hides only fillers after a name', 'finger over the right end', 12],
  ['stripes look like slanted print', 'moire', 8],
  ['the sharpened picture confirms weak characters', 'blur 3.5', 1],
  ['blur makes the print higher', 'half size, blur 2', 8]
] as const

for (const [title, name, number] of SEEN_ENOUGH) {
  t.test(`a zone is valid when ${title}`, { skip }, async (t) => {
    const { lines, bytes } = await damagedPicture(name, number)
    t.match(await readingOf(bytes), { lines, valid: true, faults: [] })
  })
}

t.test('a line that a reflection splits is found, and the reflection is the reason', { skip }, async (t) => {
  const { bytes } = await damagedPicture('glare', 2)
  t.match(await readingOf(bytes), { valid: false, faults: ['riflesso'] })
})

t.test('a slant too large to straighten is the reason for doubts', { skip }, async (t) => {
  const faults: string[] = []
  for await (const { bytes } of damagedPictures(TOO_SLANTED, 4)) {
    const found = await readingOf(bytes)
    if (found?.valid === false) faults.push(...found.faults)
  }
  t.ok(faults.includes('inclinata'), faults.join())
  t.notOk(faults.includes('mosso'))
})

const CARDS: Record<string, string[]> = {
  'an American card of permanent residents': [
    'C1USA0000000310IOE0000000001<<', '8001014F3001019ITA<<<<<<<<<<<1', 'ROSSI<<BIANCA<<<<<<<<<<<<<<<<<'],
  'an early Slovene identity card': [
    'I<SI<0000000000<<<<<<<<<<<<<<<', '8001014F3001019SVN<<<<<<<<<<<2', 'NOVAK<<ANA<<<<<<<<<<<<<<<<<<<<'],
  'a German residence permit': [
    'ARD<<Y000000008<<<<<<<<<<<<<<<', '8001014F3001019ITA<<<<<<<<<<<6', 'ROSSI<<BIANCA<<<<<<<<<<<<<<<<<']
}

for (const [name, lines] of Object.entries(CARDS)) {
  t.test(`reads ${name}`, { skip }, async (t) => {
    const found = await readingOf(await photograph(lines, { ...CLEAN, size: 44 }))
    t.same(found?.lines, lines)
    t.equal(found?.layout, layoutOf(lines))
  })
}

t.test('reads the zones of all documents in a picture', { skip }, async (t) => {
  const holders = [CARDS['an early Slovene identity card']!, CARDS['a German residence permit']!]
  const cards = await Promise.all(holders.map((lines) => photograph(lines, { ...CLEAN, size: 36 })))
  const { width = 0, height = 0 } = await sharp(cards[0]!).metadata()
  const both = await sharp(cards[0]!).extend({ bottom: height, background: 'gray' })
    .composite([{ input: await sharp(cards[1]!).resize({ width }).toBuffer(), left: 0, top: height }]).jpeg().toBuffer()
  const found = await readingOf(both)
  t.same([found!, ...found!.others].map(({ lines }) => lines).sort(), holders.toSorted())
})
