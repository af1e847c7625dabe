import type { FastifyInstance } from 'fastify'
import type { AuditEntry } from '#src/plugins/audit/log.ts'

/**
 * Does what no transaction of ours can hold: writes down that it is asked for, does it, and writes down what came of
 * it. What cannot be written down beforehand is not done.
 * @throws RegistroNonDisponibile, and whatever `work` throws
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
    await afterwards(write('done', outcome(result)))
    return result
  } catch (err) {
    await afterwards(
      write('failed', { codice: err instanceof Error && 'code' in err ? String(err.code) : 'ERRORE_INTERNO' })
    )
    throw err
  }
}

/** It has been done: that the log cannot be written any more, which is logged, does not undo it. */
async function afterwards (written: Promise<void>): Promise<void> {
  await written.catch(() => {})
}
