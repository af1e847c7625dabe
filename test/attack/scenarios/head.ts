import { API_KEY } from '#test/helper.ts'
import { bounded, timed, type Scenario } from '../scenario.ts'
import { fillBookings, startTarget } from '../target.ts'

/** Sends HEAD requests for full lists, which must not read rows. */
export const head: Scenario = {
  name: 'HEAD of full lists',
  async run () {
    const target = await startTarget()
    try {
      await fillBookings(target.sql, 200_000)
      const scans = async () => Number((await target.sql`
        select seq_tup_read + coalesce(idx_tup_fetch, 0) as n from pg_stat_user_tables
        where relname = 'prenotazioni'`)[0]!.n)
      const before = await scans()
      const statuses: number[] = []
      const ms = await timed(() => Promise.all(Array.from({ length: 50 }, async () => {
        const headers = { 'x-api-key': API_KEY }
        statuses.push((await fetch(`${target.address}/api/prenotazioni`, { method: 'HEAD', headers })).status)
      })))
      const settled = await timed(async () => { await (await target.get('/api/v1/prenotazioni?limit=1')).text() })
      // PostgreSQL sessions write statistics after one idle second.
      await new Promise((resolve) => setTimeout(resolve, 2500))
      const rows = await scans() - before
      return {
        figures: { requests: 50, ms: Math.round(ms), 'ms of the next list': Math.round(settled), 'rows read': rows },
        faults: [
          ...bounded('rows read', rows, 10_000),
          ...bounded('ms', ms + settled, 5000),
          ...(statuses.every((status) => status === 200) ? [] : [`answers ${statuses.join()}`])
        ]
      }
    } finally {
      await target.stop()
    }
  }
}
