const RETRY_MS = 2000
/** As many as requests can fail while a database is away; who waits for more than that finds out after a day. */
const OWED_MAX = 10_000

/** What could not be done because the database was away, and is tried again, in its order, until it is done. */
export interface FreedLater {
  add (work: () => PromiseLike<unknown>): void
  stop (): Promise<void>
}

/** Keys of this process: those of one that dies stay taken, because nobody knows what it did. */
export function freedLater (): FreedLater {
  const owed = new Set<() => PromiseLike<unknown>>()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let isStopped = false

  async function tryAll (): Promise<void> {
    for (const work of owed) {
      try {
        await work()
      } catch {
        return
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
