import { setTimeout as sleep } from 'node:timers/promises'

/** Of the time that a backup in a server takes, so many parts are for requests to each part for the backup. */
const PARTS_FOR_OTHERS = 3
/** However slow the disk is, a backup comes to its end. */
const LONGEST_PAUSE_MS = 100

/** How fast content is read. */
export type Pace = (content: AsyncIterable<Buffer>) => AsyncIterable<Buffer>

/** As fast as it goes. */
export const atOnce: Pace = (content) => content

/** As fast as it goes, until it is broken off. */
export function unlessBrokenOff (signal: AbortSignal): Pace {
  return async function * (content) {
    for await (const piece of content) {
      signal.throwIfAborted()
      yield piece
    }
  }
}

/** With a pause behind each piece, the longer the more was to be done: requests are answered meanwhile. */
export async function * gently (content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let begun = performance.now()
  for await (const piece of content) {
    yield piece
    await sleep(Math.min((performance.now() - begun) * PARTS_FOR_OTHERS, LONGEST_PAUSE_MS))
    begun = performance.now()
  }
}
