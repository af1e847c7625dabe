import t from 'tap'
import { readNetwork } from '#src/scanning/mrz/reader/network.ts'
import { readPicture } from '#src/scanning/mrz/reader/read-picture.ts'
import scene from '#src/scanning/ocr/scene.ts'
import { page } from '../../ocr/pages.ts'
import { TODAY } from '../samples.ts'
import { cases, LEVELS, pictureOf } from './cases.ts'
import { clutter } from './clutter.ts'
import { skip } from './render.ts'

/* A small part of what `npm run bench -- scanning` measures. */

const network = readNetwork(new URL('../../../../src/scanning/mrz/reader/model/weights.bin', import.meta.url))
const words = await page(['Si ricorda ai gentili ospiti che la colazione', 'è servita dalle 7 e 30 alle 10'])
const hidden = await clutter(6, words)
const pictures = skip
  ? []
  : await Promise.all(cases(18, 7).map(async (each, n) => (
    { ...each, bytes: await pictureOf({ ...each, quarters: n % 4 }) })))

async function reading (bytes: Buffer) {
  const opened = await scene({ bytes, text: null })
  if (opened.fault !== null) throw new Error(opened.fault)
  return readPicture(opened.made.picture, network, TODAY)
}

for (const level of LEVELS) {
  t.test(`zones of all layouts are read, whichever way they are held: ${level}`, { skip }, async (t) => {
    const own = pictures.filter((each) => each.level === level)
    let exact = 0
    for (const { bytes, lines } of own) {
      const found = await reading(bytes)
      if (found?.lines.join() === lines.join()) exact++
      else t.notOk(found?.valid, 'what is misread is not called valid')
    }
    t.ok(exact >= (level === 'hard' ? 0.75 : 1) * own.length, `${exact} of ${own.length}`)
  })
}

t.test('in pictures without a zone none is found: noise, bars, tables, pages of text', async (t) => {
  for (const [n, bytes] of hidden.entries()) t.equal(await reading(bytes), undefined, `picture ${n}`)
})
