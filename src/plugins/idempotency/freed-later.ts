const RETRY_MS = 2000
/** As many as requests can fail while a database is away; who waits for more than that finds out after a day. */
const OWED_MAX = 10_000

/** What could not be done because the database was away, and is tried again, in its order, until it is done. */
export interface FreedLater {
  add (work: () => PromiseLike<unknown>): void
  stop (): Promise<void>
}

export function freedLater (retryMs = RETRY_MS): FreedLater {
  const owed = new Set<() => PromiseLike<unknown>>()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined

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
    }, retryMs).unref()
  }

  return {
    add (work) {
      if (owed.size >= OWED_MAX) return
      owed.add(work)
      start()
    },

    // Once more, while the database is still open.
    async stop () {
      clearTimeout(timer)
      await running
      await tryAll()
      owed.clear()
      clearTimeout(timer)
    }
  }
}
