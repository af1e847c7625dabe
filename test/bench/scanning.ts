import { createWorker, OEM, PSM } from 'tesseract.js'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rmSync } from 'node:fs'
import sharp from 'sharp'
import { parse as peerParse } from 'mrz'
import { layoutOf } from '#src/scanning/mrz/layouts.ts'
import { checkLines } from '#src/scanning/mrz/lines.ts'
import { parseZone } from '#src/scanning/mrz/parse.ts'
import { present } from '#src/scanning/mrz/present.ts'
import type { Gray } from '#src/scanning/mrz/reader/gray.ts'
import { locate } from '#src/scanning/mrz/reader/locate.ts'
import { readNetwork } from '#src/scanning/mrz/reader/network.ts'
import { readPicture } from '#src/scanning/mrz/reader/read-picture.ts'
import scene from '#src/scanning/ocr/scene.ts'
import { cases, pictureOf, type Case } from '#test/scanning/mrz/reader/cases.ts'
import { page } from '#test/scanning/ocr/pages.ts'
import { damagedPictures, ROWS } from '#test/scanning/mrz/reader/damages.ts'
import { clutter } from '#test/scanning/mrz/reader/clutter.ts'
import { atLeast, interleaved, median, under, within, type BenchResult } from './harness.ts'
import { API_KEY, startLocanda, temporaryFolder, type Running } from './process.ts'

const TODAY = '2026-01-01'
const PARSES = 20_000
const TIMED = 40
const ACCURACY = 312
/** Number of images that the peer also reads, in one second each. */
const PEER = 48
/** Number of pictures of each kind of damage that the peer reads. */
const PEER_OF_ROW = 2
const NEGATIVE = 200
const READS = { settled: 50, all: 500 }

const network = readNetwork(new URL('../../src/scanning/mrz/reader/model/weights.bin', import.meta.url))

/** Compares MRZ parsing with npm's `mrz`, and reading with tesseract.js. Measures memory after many images. */
export const scanningParts: readonly (() => Promise<BenchResult[]>)[] = [parsing, reading, memory]

/** Returns a table of correctly read MRZs and false positives. */
export async function accuracyTable (): Promise<string> {
  const peer = await tesseract()
  const rows = new Map<string, Record<'exact' | 'misread' | 'none' | 'peer' | 'peerOf' | 'count', number>>()
  try {
    for (const [n, each] of cases(ACCURACY).entries()) {
      const key = `${each.level}, ${each.quarters * 90}°`
      const row = rows.get(key) ?? { exact: 0, misread: 0, none: 0, peer: 0, peerOf: 0, count: 0 }
      rows.set(key, row)
      const bytes = await pictureOf(each)
      const lines = read(await pixels(bytes))?.lines
      row.count++
      row[lines === undefined ? 'none' : isSame(lines, each) ? 'exact' : 'misread']++
      if (n % Math.floor(ACCURACY / PEER) === 0) {
        const { data } = await peer.recognize(bytes)
        row.peerOf++
        if (each.lines.every((line) => data.text.replaceAll(' ', '').includes(line))) row.peer++
      }
    }
  } finally {
    await peer.terminate()
  }
  const lines = [...rows].map(([key, { count, exact, misread, none, peer, peerOf }]) =>
    `| ${key} | ${exact} of ${count} | ${misread} | ${none} | ${peer} of ${peerOf} |`)
  const seen = await zonesInClutter()
  return ['| Level, turned | exact | misread | none | tesseract.js alone |', '|---|---|---|---|---|', ...lines,
    `| ${NEGATIVE} pictures without a zone | | ${seen} | ${NEGATIVE - seen} | |`].join('\n')
}

/**
 * Returns a table of damaged pictures, by kind of damage.
 * @param only parts of the names of rows, or none for all rows
 */
export async function damageTable (only: readonly string[]): Promise<string> {
  const peer = await tesseract()
  const lines: string[] = []
  try {
    for (const row of ROWS.filter(({ name }) => only.length === 0 || only.some((part) => name.includes(part)))) {
      const seen = { count: 0, exact: 0, valid: 0, none: 0, wrong: 0, wrongButValid: 0, peer: 0, peerOf: 0 }
      for await (const { lines: printed, bytes } of damagedPictures(row)) {
        const found = read(await pixels(bytes))
        const isExact = found?.lines.join() === printed.join()
        seen[found === undefined ? 'none' : isExact ? 'exact' : 'wrong']++
        if (found?.valid) seen[isExact ? 'valid' : 'wrongButValid']++
        if (seen.count++ >= PEER_OF_ROW) continue
        const { data } = await peer.recognize(bytes)
        seen.peerOf++
        if (printed.every((line) => data.text.replaceAll(' ', '').includes(line))) seen.peer++
      }
      lines.push(`| ${row.name} | ${seen.exact} of ${seen.count} | ${seen.valid} | ${seen.none} | ${seen.wrong} | ` +
        `${seen.wrongButValid} | ${seen.peer} of ${seen.peerOf} |`)
    }
  } finally {
    await peer.terminate()
  }
  return ['| Damage | exact | exact and valid | none | wrong | wrong but valid | tesseract.js alone |',
    '|---|---|---|---|---|---|---|', ...lines].join('\n')
}

async function zonesInClutter (): Promise<number> {
  const words = await page(['Si ricorda ai gentili ospiti che la colazione', 'è servita dalle 7 e 30 alle 10'])
  let seen = 0
  for (const bytes of await clutter(NEGATIVE, words)) if (read(await pixels(bytes))) seen++
  return seen
}

async function parsing (): Promise<BenchResult[]> {
  const zones = cases(60).map(({ lines }) => lines).filter((lines) => layoutOf(lines)!.name !== 'FRA')
  const repeat = (work: (lines: string[]) => unknown) => () => {
    for (let n = 0; n < PARSES; n++) kept[0] = work(zones[n % zones.length]!)
  }
  const measured = await interleaved(
    'zone: parse, throughput against npm mrz',
    repeat((given) => {
      const { layout, lines } = checkLines(given)
      return present(parseZone(layout, lines, TODAY))
    }),
    repeat((lines) => peerParse(lines))
  )
  // The peer checks no legibility, and no dates against the day of the scan.
  return [atLeast(4, measured)]
}

/** Results are stored, so that V8 cannot omit the work. */
const kept: unknown[] = []

async function reading (): Promise<BenchResult[]> {
  const upright = cases(TIMED * 3).filter(({ level, quarters }) => level !== 'hard' && quarters === 0)
    .concat(cases(TIMED * 3, 2).filter(({ level, quarters }) => level !== 'hard' && quarters === 0)).slice(0, TIMED)
  const pictures = await Promise.all(upright.map(async (each) => pixels(await pictureOf(each))))
  for (const picture of pictures.slice(0, 5)) read(picture)
  const times = pictures.map((picture) => timeOf(() => read(picture))).sort((a, b) => a - b)
  const slowest = times[Math.floor(times.length * 0.95)]! / median(times)
  const [first] = pictures as [Gray]
  const strip = await stripOf(first)
  const peer = await tesseract(PSM.SINGLE_BLOCK)
  const large = await largePicture(upright[0]!)
  try {
    return [
      under(2.5, 'x', { name: 'zone in a photo of 2 megapixels: 95th percentile / median', amounts: [slowest] }),
      // The peer gets the cut-out strip, while the reader first finds and straightens it.
      within(0.8, await interleaved(
        'zone in a photo, against tesseract.js on the strip',
        () => { read(first) },
        async () => { await peer.recognize(strip) }
      )),
      within(2, await interleaved(
        'zone in a photo of 12 megapixels, against one of 2', () => { read(large) }, () => { read(first) }
      ))
    ]
  } finally {
    await peer.terminate()
  }
}

/** Measures a server's memory over many images. Before the first image the server loads no reader. */
async function memory (): Promise<BenchResult[]> {
  const dataDir = temporaryFolder()
  const server = await startLocanda({ dataDir, environ: { RATE_LIMIT_HEAVY_MAX: '1000000' } })
  try {
    const pictures = await Promise.all(cases(12).map(async (each) =>
      (await pictureOf({ ...each, quarters: 0 })).toString('base64')))
    const idle = server.resident()
    await scan(server, pictures, 1)
    const afterOne = server.resident() - idle
    await scan(server, pictures, READS.settled)
    const settled = server.resident()
    await scan(server, pictures, READS.all - READS.settled)
    return [
      under(240, 'MB', { name: 'memory of the server before the first picture', amounts: [idle] }),
      under(400, 'MB', { name: 'growth of memory with the first picture', amounts: [afterOne] }),
      under(1.2, 'x', {
        name: `memory after ${READS.all} pictures against ${READS.settled}`, amounts: [server.resident() / settled]
      })
    ]
  } finally {
    await server.stop()
    rmSync(dataDir, { recursive: true })
  }
}

async function scan ({ url }: Running, pictures: readonly string[], count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const response = await fetch(`${url}/api/ocr`, {
      method: 'POST',
      headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
      body: JSON.stringify({ image: pictures[n % pictures.length], solo_mrz: true })
    })
    if (!response.ok) throw new Error(await response.text())
    await response.arrayBuffer()
  }
}

function read (picture: Gray) {
  return readPicture(picture, network, TODAY)
}

async function pixels (bytes: Buffer): Promise<Gray> {
  const opened = await scene({ bytes, text: null })
  if (opened.fault !== null) throw new Error(opened.fault)
  return opened.made.picture
}

function isSame (lines: readonly string[], each: Case): boolean {
  return lines.join() === each.lines.join()
}

function timeOf (work: () => unknown): number {
  const startedAt = performance.now()
  kept[0] = work()
  return performance.now() - startedAt
}

async function largePicture (each: Case): Promise<Gray> {
  const bytes = await sharp(await pictureOf(each)).resize({ width: 4000, height: 3000, fit: 'fill' }).jpeg().toBuffer()
  return await pixels(bytes)
}

/** The part of an image that contains the zone, as PNG. */
async function stripOf (picture: Gray): Promise<Buffer> {
  const { data, width, height } = picture
  const { lines } = locate(picture, 700)[0]!
  const left = Math.min(...lines.map(({ x, length }) => x - length / 2))
  const right = Math.max(...lines.map(({ x, length }) => x + length / 2))
  const top = Math.min(...lines.map(({ y }) => y))
  const bottom = Math.max(...lines.map(({ y }) => y))
  const margin = 2.5 * lines[0]!.thickness
  const at = { left: Math.max(0, Math.floor(left - margin)), top: Math.max(0, Math.floor(top - margin)) }
  return await sharp(data, { raw: { width, height, channels: 1 } }).extract({
    ...at,
    width: Math.min(width, Math.ceil(right + margin)) - at.left,
    height: Math.min(height, Math.ceil(bottom + margin)) - at.top
  }).png().toBuffer()
}

async function tesseract (mode?: PSM) {
  const data = import.meta.resolve('@tesseract.js-data/eng/4.0.0_best_int/eng.traineddata.gz')
  const langPath = dirname(fileURLToPath(data))
  const worker = await createWorker('eng', OEM.LSTM_ONLY, { langPath, cacheMethod: 'none', errorHandler: () => {} })
  await worker.setParameters({ user_defined_dpi: '300', ...mode && { tessedit_pageseg_mode: mode } })
  return worker
}
