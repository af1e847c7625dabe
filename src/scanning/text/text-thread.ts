import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parentPort } from 'node:worker_threads'
import { createWorker, OEM, type Worker } from 'tesseract.js'
import type { OcrLanguage } from '#schemas/ocr.ts'
import { turned, type Gray } from '../mrz/reader/gray.ts'

/*
 * A thread that reads images one at a time. Tesseract starts another thread, which ends with this one. So an image that
 * crashes Tesseract affects no other work.
 */

/** A page, and the number of clockwise quarter turns (`quarters`) that make it upright. */
export interface TextRequest { page: Gray, languages: readonly OcrLanguage[], quarters: 0 | 1 | 2 | 3 }
export type TextReply = { text: string } | { fault: string }

/** The library's language codes, which are also the names of its data packages. */
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

/** Encodes an image as PGM, the simplest format. */
function imageFile ({ data, width, height }: Gray): Buffer {
  return Buffer.concat([Buffer.from(`P5\n${width} ${height}\n255\n`), data])
}

/** Starts the library. It needs all language data in one folder, which is removed after loading. */
async function start (codes: string[]): Promise<Worker> {
  const langPath = await mkdtemp(join(tmpdir(), 'locanda-text-'))
  try {
    for (const code of codes) {
      const file = `${code}.traineddata.gz`
      const from = fileURLToPath(import.meta.resolve(`@tesseract.js-data/${code}/4.0.0_best_int/${file}`))
      await copyFile(from, join(langPath, file))
    }
    // Without an error handler, one unreadable image would end the process. The cache is off, because the library would
    // write it to the working directory and trust it later.
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
