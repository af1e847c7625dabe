import type { Test } from 'tap'
import { connect } from '#src/plugins/database/connect.ts'

/**
 * A second connection, with a booking that is committed later. Its country is another one than those of bookings that
 * are made meanwhile: they are counted by country.
 */
export async function lateTransaction (t: Pick<Test, 'teardown'>, url: string, paese = 276) {
  const other = connect(url, 1)
  t.teardown(() => other.close())
  const hasWritten = Promise.withResolvers<number>()
  const commit = Promise.withResolvers<void>()
  const committed = other.sql.begin(async (sql) => {
    await sql`set local idle_in_transaction_session_timeout = 0`
    const [row] = await sql<{ id: number }[]>`
      insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
      values ('Carla Neri', 'IT', ${paese}, '2026-12-01', '2026-12-03', 1) returning id`
    hasWritten.resolve(row!.id)
    await commit.promise
  })
  const id = await hasWritten.promise
  return { id, commit: async () => { commit.resolve(); await committed } }
}
