import type { FastifyInstance } from 'fastify'
import type postgres from 'postgres'
import { eraseBookings } from '#src/bookings/index.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { eraseScans } from '#src/scans/index.ts'

type Pending = Record<'prenotazioni' | 'scansioni' | 'file', string[]>

/** The ids that restores have listed for erasure, and that still exist in the database. */
async function pendingErasures (sql: postgres.Sql): Promise<Pending> {
  const rows = await sql<{ kind: keyof Pending, id: string }[]>`
    with ids as (
      select kind, jsonb_array_elements_text(details -> kind) as id
      from audit_log, unnest(array['prenotazioni', 'scansioni', 'file']) as kind where action = 'ripristino')
    select kind, id from ids where kind = 'prenotazioni' and id in (select id::text from prenotazioni)
      or kind = 'scansioni' and id in (select id::text from scansioni)
      or kind = 'file' and id in (select id::text from objects)`
  const pending: Pending = { prenotazioni: [], scansioni: [], file: [] }
  for (const { kind, id } of rows) pending[kind].push(id)
  return pending
}

/**
 * Repeats the erasures that a restore has listed, before the server answers requests. A booking with an unfinished
 * submission cannot be erased yet, so a job tries again every night.
 */
export async function repeatErasures (app: FastifyInstance, keys: Keys): Promise<void> {
  if (Object.values(await pendingErasures(app.sql)).every((ids) => ids.length === 0)) return
  app.addHook('onReady', erase)
  app.addJob({
    name: 'restored-erasures',
    description: 'Ripete le cancellazioni avvenute dopo il salvataggio ripristinato',
    cron: '50 3 * * *',
    run: erase
  })

  async function erase (): Promise<void> {
    const { scansioni, file, prenotazioni } = await pendingErasures(app.sql)
    for (const id of prenotazioni) {
      await eraseBookings(app, [Number(id)]).catch((err: unknown) => {
        app.log.warn({ err, booking: id }, 'a restored booking could not be erased again')
      })
    }
    await eraseScans(app, keys, scansioni.map(Number))
    await app.db.transaction((tx) => app.files.discard(tx, file.map((id) => ({ id }))))
    app.files.removeDiscarded()
  }
}
