import sharp from 'sharp'
import { generator } from './render.ts'

/* Images without an MRZ, the same in every run. */

const [WIDTH, HEIGHT] = [900, 640]

type Paint = (random: () => number, x: number, y: number) => number

/** The kinds of images. Each gives a gray value per pixel. */
const KINDS: readonly ((random: () => number) => Paint)[] = [
  // Fine and coarse noise.
  () => (random) => random() * 255,
  (random) => {
    const grain = 3 + Math.floor(random() * 12)
    const tiles = Float32Array.from({ length: 400 * 400 }, () => random() * 255)
    return (_random, x, y) => tiles[Math.floor(y / grain) * 400 + Math.floor(x / grain)]!
  },
  // Bar codes, one below the other.
  (random) => {
    const rows = Array.from({ length: 12 }, () => bars(random))
    return (_random, x, y) => y % 54 < 38 && x > 60 && x < 840 ? rows[Math.floor(y / 54)]![x]! : 235
  },
  // Dense lines of random marks, similar to text.
  (random) => {
    const pitch = 14 + Math.floor(random() * 10)
    const marks = Float32Array.from({ length: 900 * 640 }, () => random())
    return (_random, x, y) => {
      const [line, within] = [Math.floor(y / (2 * pitch)), y % (2 * pitch)]
      const mark = marks[line * 900 + Math.floor(x / 3) + Math.floor(within / 3) * 77]!
      return within < pitch && x % pitch < pitch * 0.8 && x > 50 && x < 850 && mark > 0.5 ? 30 : 230
    }
  },
  // Lines of a table.
  (random) => {
    const [down, across] = [20 + Math.floor(random() * 40), 30 + Math.floor(random() * 90)]
    return (_random, x, y) => y % down < 2 || x % across < 2 ? 40 : 240
  }
]

function bars (random: () => number): Float32Array {
  const row = new Float32Array(WIDTH)
  for (let x = 0, dark = false; x < WIDTH; dark = !dark) {
    const end = x + 1 + Math.floor(random() * 5)
    for (; x < end && x < WIDTH; x++) row[x] = dark ? 20 : 235
  }
  return row
}

/** Makes `count` images. Every sixth is the given page, resized and slightly rotated. */
export async function clutter (count: number, page: Buffer): Promise<Buffer[]> {
  return await Promise.all(Array.from({ length: count }, async (_, n) => {
    const random = generator(4711 + n)
    if (n % 6 === 5) {
      return await sharp(page).resize({ width: 700 + n * 8 }).rotate(random() * 10 - 5, { background: 'white' }).jpeg()
        .toBuffer()
    }
    const paint = KINDS[n % 6]!(random)
    const data = new Uint8Array(WIDTH * HEIGHT)
    for (let at = 0; at < data.length; at++) data[at] = paint(random, at % WIDTH, Math.floor(at / WIDTH))
    return await sharp(data, { raw: { width: WIDTH, height: HEIGHT, channels: 1 } }).jpeg({ quality: 85 }).toBuffer()
  }))
}
