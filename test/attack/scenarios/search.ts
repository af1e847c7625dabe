import { setTimeout as sleep } from 'node:timers/promises'
import { bounded, timed, type Scenario } from '../scenario.ts'
import { fillBookings, startTarget } from '../target.ts'

/** Searches of one key at a time that keep the database busy. Readiness is asked for all the while. */
export const search: Scenario = {
  name: '280 searches at once among 1,000,000 bookings',
  async run () {
    const target = await startTarget()
    try {
      await fillBookings(target.sql, 1_000_000)
      const times: number[] = []
      for (let n = 0; n < 20; n++) {
        times.push(await timed(async () => (await target.get(`/api/v1/prenotazioni?q=IDF99${n}77`)).text()))
      }
      const median = times.sort((a, b) => a - b)[10]!
      const over = new AbortController()
      const probes: { ms: number, ok: boolean }[] = []
      const probing = (async () => {
        while (!over.signal.aborted) {
          let ok = false
          const ms = await timed(async () => { ok = (await target.get('/health/ready')).ok })
          probes.push({ ms, ok })
          await sleep(50)
        }
      })()
      const storm = await timed(async () => {
        const words = ['zz', 'q', 'none of them', '%', 'anna bianchi 0', 'x@y']
        const answers = await Promise.all(Array.from({ length: 280 }, (_, n) =>
          target.get(`/api/v1/prenotazioni?q=${encodeURIComponent(words[n % words.length]! + n)}`)))
        for (const answer of answers) await answer.arrayBuffer()
      })
      over.abort()
      await probing
      const slowest = Math.max(...probes.map(({ ms }) => ms))
      const unready = probes.filter(({ ok }) => !ok).length
      return {
        figures: {
          'ms of a search': Math.round(median),
          'ms of all': Math.round(storm),
          probes: probes.length,
          unready,
          'slowest probe, ms': Math.round(slowest)
        },
        faults: [
          ...bounded('ms of a search', median, 30),
          ...bounded('probes that were not ready', unready, 0),
          ...bounded('ms of a probe', slowest, 2000)
        ]
      }
    } finally {
      await target.stop()
    }
  }
}
