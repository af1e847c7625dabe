import pino from 'pino'
import type { Test } from 'tap'
import { auditLog, type AuditEntry } from '#src/services/audit/log.ts'
import type { Connection } from '#src/database/connect.ts'
import { testDatabase } from '#test/database.ts'
import type { TestApp } from '#test/helper.ts'

export const AUDIT = '/api/v1/audit'

/** A log on a separate database, without a server. */
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

/** The n-th sample entry. */
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

/** Makes writes to the log fail. Returns a function that ends this. */
export async function unwritable (sql: Connection['sql']): Promise<() => Promise<unknown>> {
  await sql.unsafe(`
    create function rifiuta () returns trigger language plpgsql as $$ begin raise exception 'disco pieno'; end $$;
    create trigger rifiuta before insert on audit_log for each row execute function rifiuta ()`)
  return () => sql.unsafe('drop trigger rifiuta on audit_log; drop function rifiuta')
}

/** Calls as an administrator. */
export async function admin ({ app, token }: Pick<TestApp, 'app' | 'token'>) {
  const authorization = `Bearer ${await token({ name: 'amministratore', role: 'admin' })}`
  return (method: 'GET' | 'POST', url: string, body?: object) => (
    app.inject({ method, url, headers: { authorization }, ...(body === undefined ? {} : { payload: body }) }))
}
