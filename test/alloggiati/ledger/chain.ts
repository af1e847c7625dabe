import type postgres from 'postgres'

/**
 * The ids of the transitions whose number is out of sequence, or whose hash does not match their row and the previous
 * hash.
 */
export async function brokenLinks (sql: postgres.ISql): Promise<number[]> {
  const links = await sql<{ id: number }[]>`
    select id from (
      select id, id - coalesce(lag(id) over chain, 0) as step,
        hash is distinct from catena_hash(lag(hash) over chain, to_jsonb(t)) as altered
      from invii_transizioni t window chain as (order by id)) links
    where step <> 1 or altered order by id`
  return links.map(({ id }) => id)
}
