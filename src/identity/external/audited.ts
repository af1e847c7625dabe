import type { FastifyInstance } from 'fastify'
import type { AuditEntry } from '#src/services/audit/log.ts'

/**
 * Does work at the provider, which no database transaction can undo: writes to the audit log that it is asked for, does
 * it, and writes its result. When the log cannot be written beforehand, the work is not done.
 * @throws RegistroNonDisponibile, and the errors of `work`
 */
export async function audited<T> (
  { db, audit }: Pick<FastifyInstance, 'db' | 'audit'>,
  entry: AuditEntry,
  work: () => Promise<T>,
  outcome: (result: T) => AuditEntry['details'] = () => ({})
): Promise<T> {
  const write = (phase: 'asked' | 'done' | 'failed', details: AuditEntry['details']) =>
    audit.append(db, { ...entry, details: { ...entry.details, phase, ...details } })
  await write('asked', {})
  try {
    const result = await work()
    await ignoreFailure(write('done', outcome(result)))
    return result
  } catch (err) {
    await ignoreFailure(
      write('failed', { codice: err instanceof Error && 'code' in err ? String(err.code) : 'ERRORE_INTERNO' })
    )
    throw err
  }
}

/** The work has been done: a failure to write the audit log now, which is logged, does not undo it. */
async function ignoreFailure (written: Promise<void>): Promise<void> {
  await written.catch(() => {})
}
