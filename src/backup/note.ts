import type postgres from 'postgres'
import type { EventType } from '#schemas/event.ts'

type BackupEvent = Extract<EventType, `salvataggio.${string}`>

/** Writes down the event of a backup that was made, or failed. */
export async function noteBackup (sql: postgres.ISql, tipo: BackupEvent): Promise<void> {
  await sql`select evento_annota(${tipo}, 'salvataggio:' || (now() at time zone 'Europe/Rome')::date, null)`
}
