import { mayPass } from '#src/database/problems.ts'

const RETRY_MS = 2000
/** Of more keys than this the rest stay taken for their day. */
const OWED_MAX = 10_000

/** Work on keys that failed because the database was away: it is tried again, in its order, until it is done. */
export interface FreedLater {
  add (work: () => PromiseLike<unknown>): void
  stop (): Promise<void>
}

/** Only in memory: the keys of a process that dies stay taken, because it is not known what it did. */
export function freedLater (): FreedLater {
  const owed = new Set<() => PromiseLike<unknown>>()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let isStopped = false

  async function tryAll (): Promise<void> {
    for (const work of owed) {
      try {
        await work()
      } catch (err) {
        if (mayPass(err)) return
      }
      owed.delete(work)
    }
  }

  function start (): void {
    timer ??= setTimeout(() => {
      running = tryAll().finally(() => {
        timer = undefined
        if (owed.size > 0) start()
      })
    }, RETRY_MS).unref()
  }

  return {
    add (work) {
      if (isStopped || owed.size >= OWED_MAX) return
      owed.add(work)
      start()
    },

    // Once more, while the database is still open.
    async stop () {
      isStopped = true
      await running
      clearTimeout(timer)
      await tryAll()
      owed.clear()
    }
  }
}
