/** Places of which so many are taken at a time; who comes later waits, first come first served. */
export interface Slots {
  /** Resolves with a function that gives the place back. @throws the reason of the signal, once it is aborted */
  take (signal: AbortSignal): Promise<() => void>
  count (): { taken: number, waiting: number }
}

export function slots (places: number): Slots {
  const waiting = new Set<() => void>()
  let taken = 0

  function giveBack () {
    taken--
    const [next] = waiting
    next?.()
  }

  return {
    take (signal) {
      return new Promise((resolve, reject) => {
        const leave = () => {
          waiting.delete(enter)
          reject(signal.reason)
        }
        const enter = () => {
          waiting.delete(enter)
          signal.removeEventListener('abort', leave)
          taken++
          resolve(giveBack)
        }
        if (signal.aborted) return leave()
        if (taken < places) return enter()
        signal.addEventListener('abort', leave, { once: true })
        waiting.add(enter)
      })
    },
    count: () => ({ taken, waiting: waiting.size })
  }
}
