import { sealOf } from '#src/alloggiati/ledger/seals/ledger-key.ts'
import { readConfig } from '#src/config/config.ts'
import { createKeys, type Keys } from '#src/lib/secrets.ts'
import type { TestApp } from '#test/helper.ts'
import type postgres from 'postgres'

interface Link { id: number, before: number, hash: Buffer, text: string }

/**
 * The ids of the transitions whose hash is not that of their row and of the row before, or whose number does not follow
 * on.
 */
export async function brokenLinks (sql: postgres.ISql, keys: Keys): Promise<number[]> {
  const seal = sealOf(keys)
  const links = await sql<Link[]>`
    select id, hash, coalesce(lag(id) over links, 0) as before,
      testo_dell_anello(lag(hash) over links, id, invio_id, da, a, chi, perche, quando, case when da is not null
        then (select count(*)::int from invii_schedine s where s.invio_id = t.invio_id) end) as text
    from invii_transizioni t window links as (order by id) order by id`
  return links
    .filter(({ id, before, hash, text }) => id !== before + 1 || !hash.equals(seal(text)))
    .map(({ id }) => id)
}

/** The keys of a server under test. */
export function keysOf ({ dataDir }: Pick<TestApp, 'dataDir'>): Keys {
  return createKeys(readConfig({ DATA_DIR: dataDir }).MASTER_KEY)
}
