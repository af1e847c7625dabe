import { createHash } from 'node:crypto'
import type { Connection } from '#src/plugins/database/connect.ts'

interface Link { id: number, parts: string, hash: Buffer }

/**
 * The ids of the transitions whose hash is not that of their row and of the row before, or whose number does not follow
 * on.
 */
export async function brokenLinks (sql: Connection['sql']): Promise<number[]> {
  const links = await sql<Link[]>`
    select id, hash, jsonb_build_array(
      id, invio_id, da, a, chi, perche, extract(epoch from quando)::numeric(20, 3)
    )::text as parts
    from invii_transizioni order by id`
  return links.filter(({ id, parts, hash }, at) => {
    const own = createHash('sha256').update(links[at - 1]?.hash ?? Buffer.alloc(0)).update(parts).digest()
    return id !== at + 1 || !own.equals(hash)
  }).map(({ id }) => id)
}
