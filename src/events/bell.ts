/** Wakes one who waits; a ring while nobody waits is kept. */
export interface Bell {
  ring (): void
  /** Whether it rings, or has rung, within so many milliseconds. */
  wait (ms: number): Promise<boolean>
}

export function createBell (): Bell {
  let isRung = false
  let wake = () => {}
  return {
    ring () {
      isRung = true
      wake()
    },
    async wait (ms) {
      if (!isRung) {
        const { promise, resolve } = Promise.withResolvers<void>()
        const timer = setTimeout(resolve, ms)
        wake = resolve
        await promise
        clearTimeout(timer)
      }
      const heard = isRung
      isRung = false
      return heard
    }
  }
}
