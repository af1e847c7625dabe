import { parentPort } from 'node:worker_threads'
import type { TextRequest } from '#src/scanning/text/text-thread.ts'

/* Replaces the OCR thread in tests. The width of the page selects the behaviour. */

let readings = 0

export const WIDTHS = { read: 1, hang: 2, exit: 3, fail: 4 }

parentPort?.on('message', ({ page: { width } }: TextRequest) => {
  if (width === WIDTHS.read) parentPort!.postMessage({ text: `${++readings}` })
  if (width === WIDTHS.exit) process.exit(1)
  if (width === WIDTHS.fail) setImmediate(() => { throw new Error('of the library') })
})
