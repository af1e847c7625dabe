import { bounded, timed, type Scenario } from '../scenario.ts'
import { startTarget } from '../target.ts'

const USERS = 70_000

/** Lists more users than the maximum parameters of a PostgreSQL statement. */
export const users: Scenario = {
  name: 'lists of 70,000 users',
  async run () {
    const target = await startTarget()
    try {
      await target.sql`
        insert into users (email, email_confirmed_at, app_metadata, created_at)
        select 'utente' || n || '@example.org', now(), '{"role":"operator"}', now() - n * interval '1 second'
        from generate_series(1, ${USERS}::int) n`
      // On a real server autovacuum analyzes the table.
      await target.sql`analyze users`
      const headers = { authorization: `Bearer ${target.serviceKey}` }
      let listed = 0
      const statuses: number[] = []
      const ms = await timed(async () => {
        const response = await fetch(`${target.address}/api/users`, { headers })
        statuses.push(response.status)
        listed = ((await response.json()) as unknown[]).length
      })
      for (const page of [1, 2, 700]) {
        const response = await fetch(`${target.address}/auth/v1/admin/users?per_page=100&page=${page}`, { headers })
        statuses.push(response.status)
        await response.arrayBuffer()
      }
      return {
        figures: { users: USERS, listed, ms: Math.round(ms) },
        faults: [
          ...(statuses.every((status) => status === 200) ? [] : [`answers ${statuses.join()}`]),
          ...bounded('users that are missing', USERS - listed, 0)
        ]
      }
    } finally {
      await target.stop()
    }
  }
}
