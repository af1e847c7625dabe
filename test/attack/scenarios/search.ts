import { setTimeout as sleep } from 'node:timers/promises'
import { bounded, timed, type Scenario } from '../scenario.ts'
import { fillBookings, startTarget } from '../target.ts'

/** Runs concurrent searches with one key, half of them paged. The server must refuse some, and stay ready. */
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
      const statuses: number[] = []
      const storm = await timed(async () => {
        const words = ['zz', 'q', 'none of them', '%', 'anna bianchi 0', 'x@y']
        await Promise.all(Array.from({ length: 280 }, async (_, n) => {
          const q = encodeURIComponent(words[n % words.length]! + n)
          const response = await target.get(`/api/v1/prenotazioni?q=${q}${n % 2 === 0 ? '&limit=50' : ''}`)
          statuses.push(response.status)
          await response.arrayBuffer()
        }))
      })
      over.abort()
      await probing
      const slowest = Math.max(...probes.map(({ ms }) => ms))
      const succeeded = statuses.filter((status) => status === 200).length
      const unready = probes.filter(({ ok }) => !ok).length
      return {
        figures: {
          'ms of a single search': Math.round(median),
          'ms of all': Math.round(storm),
          answered: succeeded,
          refused: statuses.length - succeeded,
          probes: probes.length,
          unready,
          'slowest probe, ms': Math.round(slowest)
        },
        faults: [
          ...bounded('ms of a single search', median, 30),
          ...bounded('probes that were not ready', unready, 0),
          ...bounded('ms of a probe', slowest, 2000),
          ...(succeeded === 0 ? ['no search succeeded'] : []),
          ...(succeeded === statuses.length ? ['no search was refused'] : []),
          ...(statuses.every((status) => [200, 429, 503].includes(status)) ? [] : [`statuses ${statuses.join()}`])
        ]
      }
    } finally {
      await target.stop()
    }
  }
}
