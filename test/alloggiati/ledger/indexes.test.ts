import t from 'tap'
import {
  FINAL_ATTEMPT_OUTCOMES, IN_FLIGHT_STATES, LIVE_ROW_OUTCOMES, UNFINISHED_STATES
} from '#schemas/submission.ts'
import { testDatabase } from '#test/database.ts'

/** The words that the predicate of each partial index names. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  invii_aperti: UNFINISHED_STATES,
  invii_un_volo: IN_FLIGHT_STATES,
  invii_schedine_una_volta: LIVE_ROW_OUTCOMES,
  invii_schedine_una_persona: LIVE_ROW_OUTCOMES,
  invii_schedine_un_documento: LIVE_ROW_OUTCOMES,
  invii_esiti_definitivo: FINAL_ATTEMPT_OUTCOMES
}

t.test('the partial indexes of the migrated database name exactly the states and outcomes of the code', async (t) => {
  const { sql } = await testDatabase(t)
  const found = await sql<{ name: string, predicate: string }[]>`
    select c.relname as name, pg_get_expr(i.indpred, i.indrelid) as predicate
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indpred is not null and c.relname like 'invii%'`
  const words = found.map(({ name, predicate }) => [name, [...predicate.matchAll(/'([^']+)'/g)].map(([, word]) => word)])
  t.same(Object.fromEntries(words), { ...WORDS, invii_sospensioni_aperta: [] })
})
