import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parentPort } from 'node:worker_threads'
import { createWorker, OEM, type Worker } from 'tesseract.js'
import type { OcrLanguage } from '#schemas/ocr.ts'
import { turned, type Gray } from '../mrz/reader/gray.ts'

/*
 * A thread that reads the text of pictures, one after the other. The library makes a further thread, which ends with
 * this one: a picture that makes it fail takes nothing else along.
 */

/** `quarters` of a turn, clockwise, set the page upright. */
export interface TextRequest { page: Gray, languages: readonly OcrLanguage[], quarters: 0 | 1 | 2 | 3 }
export type TextReply = { text: string } | { fault: string }

/** The library's codes of languages, which name the packages of their data. */
const CODES: Readonly<Record<OcrLanguage, string>> = { IT: 'ita', EN: 'eng', DE: 'deu', FR: 'fra' }

let engine: { worker: Worker, languages: string } | undefined

async function read ({ page, languages, quarters }: TextRequest): Promise<string> {
  const wanted = languages.map((each) => CODES[each])
  if (engine?.languages !== wanted.join('+')) {
    await engine?.worker.terminate()
    engine = { worker: await start(wanted), languages: wanted.join('+') }
  }
  const { data } = await engine.worker.recognize(imageFile(quarters === 0 ? page : turned(page, quarters)))
  return data.text
}

/** The plainest image file that there is (PGM). */
function imageFile ({ data, width, height }: Gray): Buffer {
  return Buffer.concat([Buffer.from(`P5\n${width} ${height}\n255\n`), data])
}

/** The library takes the data of all languages from one folder, which is gone again when they are loaded. */
async function start (codes: string[]): Promise<Worker> {
  const langPath = await mkdtemp(join(tmpdir(), 'locanda-text-'))
  try {
    for (const code of codes) {
      const file = `${code}.traineddata.gz`
      const from = fileURLToPath(import.meta.resolve(`@tesseract.js-data/${code}/4.0.0_best_int/${file}`))
      await copyFile(from, join(langPath, file))
    }
    // Without a handler of errors one picture that cannot be read would end the process; with a cache the library would
    // write into the folder of the process, and believe what it finds there.
    const worker = await createWorker(codes, OEM.LSTM_ONLY, { langPath, cacheMethod: 'none', errorHandler: () => {} })
    await worker.setParameters({ user_defined_dpi: '300' })
    return worker
  } finally {
    await rm(langPath, { recursive: true, force: true })
  }
}

parentPort!.on('message', (request: TextRequest) => {
  read(request).then(
    (text) => parentPort!.postMessage({ text } satisfies TextReply),
    (err: unknown) => parentPort!.postMessage({ fault: err instanceof Error ? err.name : 'Error' } satisfies TextReply)
  )
})
