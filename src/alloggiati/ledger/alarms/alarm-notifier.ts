import { lt, sql } from 'drizzle-orm'
import type { FastifyBaseLogger } from 'fastify'
import { allarmi } from '#drizzle/tables/alloggiati.ts'
import type { Clock, Day } from '#src/lib/time.ts'
import type { Database } from '#src/database/connect.ts'
import { deleteInBatches } from '#src/database/delete-in-batches.ts'
import type { Mailer } from '#src/services/mail/plugin.ts'
import { kindOf, type AlarmFacts, type AlarmKind, alarmMail } from './alarm-kinds.ts'
import { withDetails } from './alarm-details.ts'
import { HeadFileError } from '#src/database/chain-head.ts'
import { isFailureKind } from '../../service/soap/errors.ts'

/** Prefix before an error code of the operating system. */
const CODE_PREFIX = 'codice '

export interface AlarmCase extends AlarmFacts {
  /** The day of the alarm, today by default. The same problem raises one alarm a day. */
  on?: Day
}

/**
 * Raises an alarm: an error log line per case, and one mail per recipient. Skips a problem for which any process has
 * already raised an alarm for that day. Never fails: cases that cannot be recorded are still logged.
 */
export type RaiseAlarm = (kind: AlarmKind, ...cases: readonly AlarmCase[]) => Promise<void>

export interface NotifierOptions {
  db: Database
  clock: Clock
  log: Pick<FastifyBaseLogger, 'error'>
  /** Whether the error means a full disk, which is logged elsewhere. */
  isReported?: (err: unknown) => boolean
  mail: Pick<Mailer, 'enqueue' | 'deliver'>
  /** E-mail addresses. If empty, alarms are only logged. */
  recipients: readonly string[]
  mode: 'sandbox' | 'production'
}

export function alarmNotifier ({ db, clock, log, isReported, mail, recipients, mode }: NotifierOptions): RaiseAlarm {
  /** @returns the cases that are new, with their details */
  function recordCases (kind: AlarmKind, cases: readonly AlarmCase[]): Promise<AlarmFacts[]> {
    return db.transaction(async (tx) => {
      const newCases: AlarmFacts[] = []
      for (const { on = clock.today(), ...facts } of cases) {
        const added = await tx.insert(allarmi).values({ argomento: topicOf(kind, facts, mode), giorno: on })
          .onConflictDoNothing().returning({ giorno: allarmi.giorno })
        if (added.length > 0) newCases.push(facts)
      }
      if (newCases.length === 0) return newCases
      const detailed = await withDetails(tx, newCases)
      for (const to of recipients) await mail.enqueue(tx, { to, ...alarmMail(kind, detailed, mode) })
      return detailed
    })
  }

  return async (kind, ...cases) => {
    if (cases.length === 0) return
    let newCases: readonly AlarmFacts[] = cases.map(({ on, ...facts }) => facts)
    try {
      newCases = await recordCases(kind, cases)
      mail.deliver()
    } catch (err) {
      if (!isReported?.(err)) log.error({ err, alarm: kind }, 'an alarm could not be recorded, and is not mailed')
    }
    for (const facts of newCases) log.error(forLog(facts), kindOf(kind).message)
  }
}

/**
 * The facts for the log, with establishments by id. Leaves out texts of the service, because they may repeat guest
 * data. The mail and the ledger contain these texts.
 */
function forLog ({ errore, strutture, ...rest }: AlarmFacts): object {
  const isSafe = errore !== undefined && (isFailureKind(errore) || errore.startsWith(CODE_PREFIX))
  return { ...rest, ...isSafe && { errore }, ...strutture && { strutture: strutture.map(({ id }) => id) } }
}

/** Deletes alarms older than 60 days. If the problem persists, a new alarm is raised. */
export async function forgetOldAlarms (db: Database): Promise<void> {
  await deleteInBatches(db, allarmi, lt(allarmi.quando, sql`now() - interval '60 days'`))
}

function topicOf (kind: AlarmKind, facts: AlarmFacts, mode: string): string {
  const parts = kindOf(kind).identifiedBy.flatMap((name) => facts[name] === undefined ? [] : [`${name}=${facts[name]}`])
  return [mode, kind, ...parts].join(' ')
}

/** Raises the alarm that `DATA_DIR` is not writable, if `err` is about its file of the chain head. */
export async function alarmUnwritableFolder (
  { alarm, name }: { alarm: RaiseAlarm, name: string }, err: unknown
): Promise<void> {
  if (!(err instanceof HeadFileError)) return
  const { cause } = err
  // Report only the error code, because system messages contain paths.
  const errore = cause instanceof Error && 'code' in cause ? CODE_PREFIX + String(cause.code) : undefined
  await alarm('unwritable-folder', { macchina: name.split('/')[0], errore })
}
