import pino from 'pino'
import type { Test } from 'tap'
import { auditLog, type AuditEntry } from '#src/services/audit/log.ts'
import type { Connection } from '#src/database/connect.ts'
import { testDatabase } from '#test/database.ts'
import type { TestApp } from '#test/helper.ts'

export const AUDIT = '/api/v1/audit'

/** A log on a database of its own, without the server around it. */
export async function bench (t: Test) {
  const { db, sql, url } = await testDatabase(t)
  const logs: Record<string, unknown>[] = []
  const log = pino(
    { level: 'info' },
    {
      write: (line: string) => {
        logs.push(JSON.parse(line) as Record<string, unknown>)
      }
    }
  )
  return { db, sql, url, logs, log, audit: auditLog(log) }
}

/** The n-th of any number of entries. */
export function entry (n: number, changes: Partial<AuditEntry> = {}): AuditEntry {
  return {
    actor: `user:${n}`,
    action: 'utente_modificato',
    object: `user:${n}`,
    ip: '192.0.2.7',
    details: { n, campi: ['ruolo'] },
    ...changes
  }
}

/** From now on nothing can be written to the log; the answer undoes it. */
export async function unwritable (sql: Connection['sql']): Promise<() => Promise<unknown>> {
  await sql.unsafe(`
    create function rifiuta () returns trigger language plpgsql as $$ begin raise exception 'disco pieno'; end $$;
    create trigger rifiuta before insert on audit_log for each row execute function rifiuta ()`)
  return () => sql.unsafe('drop trigger rifiuta on audit_log; drop function rifiuta')
}

/** Calls by an administrator. */
export async function admin ({ app, token }: Pick<TestApp, 'app' | 'token'>) {
  const authorization = `Bearer ${await token({ name: 'amministratore', role: 'admin' })}`
  return (method: 'GET' | 'POST', url: string, body?: object) => (
    app.inject({ method, url, headers: { authorization }, ...(body === undefined ? {} : { payload: body }) }))
}
