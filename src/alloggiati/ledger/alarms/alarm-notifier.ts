import { and, asc, eq, isNotNull, lt, sql } from 'drizzle-orm'
import type { FastifyBaseLogger } from 'fastify'
import { allarmi } from '#drizzle/tables/alloggiati.ts'
import { invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import type { Clock, Day } from '#src/lib/time.ts'
import type { Database, Executor } from '#src/database/connect.ts'
import { deleteInBatches } from '#src/database/delete-in-batches.ts'
import type { Mailer } from '#src/services/mail/plugin.ts'
import { kindOf, type AlarmFacts, type AlarmKind, alarmMail } from './alarm-kinds.ts'
import { HeadFileError } from '#src/database/chain-head.ts'
import { isFailureKind } from '../../service/soap/errors.ts'

/** Prefix before an error code of the operating system. */
const OWN_CODE = 'codice '

export interface AlarmCase extends AlarmFacts {
  /** The day of the alarm, today by default. The same problem raises one alarm a day. */
  on?: Day
}

/**
 * Raises an alarm: an error log line per case, and one mail per recipient. Skips a problem for which any process has
 * already raised an alarm that day. Never fails: cases that cannot be recorded are still logged.
 */
export type RaiseAlarm = (kind: AlarmKind, ...cases: readonly AlarmCase[]) => Promise<void>

export interface NotifierOptions {
  db: Database
  clock: Clock
  log: Pick<FastifyBaseLogger, 'error'>
  /** Whether the error means a full disk, which is logged elsewhere. */
  isReported?: (err: unknown) => boolean
  mail: Pick<Mailer, 'enqueue' | 'deliver'>
  /** E-mail addresses; if empty, alarms are only logged. */
  recipients: readonly string[]
  mode: 'sandbox' | 'production'
}

export function alarmNotifier ({ db, clock, log, isReported, mail, recipients, mode }: NotifierOptions): RaiseAlarm {
  /** @returns the cases that are new */
  function writeDown (kind: AlarmKind, cases: readonly AlarmCase[]): Promise<AlarmFacts[]> {
    return db.transaction(async (tx) => {
      const newCases: AlarmFacts[] = []
      for (const { on = clock.today(), ...facts } of cases) {
        const added = await tx.insert(allarmi).values({ argomento: matterOf(kind, facts, mode), giorno: on })
          .onConflictDoNothing().returning({ giorno: allarmi.giorno })
        if (added.length > 0) newCases.push(await withBookings(tx, facts))
      }
      if (newCases.length === 0) return newCases
      for (const to of recipients) await mail.enqueue(tx, { to, ...alarmMail(kind, newCases, mode) })
      return newCases
    })
  }

  return async (kind, ...cases) => {
    if (cases.length === 0) return
    let newCases: readonly AlarmFacts[] = cases.map(({ on, ...facts }) => facts)
    try {
      newCases = await writeDown(kind, cases)
      mail.deliver()
    } catch (err) {
      if (!isReported?.(err)) log.error({ err, alarm: kind }, 'an alarm could not be recorded, and is not mailed')
    }
    for (const facts of newCases) log.error(withoutWords(facts), kindOf(kind).message)
  }
}

/** Omits the texts of the service, which may repeat data of the call. The mail and the ledger contain these texts. */
function withoutWords (facts: AlarmFacts): AlarmFacts {
  const { errore, ...rest } = facts
  return errore === undefined || isFailureKind(errore) || errore.startsWith(OWN_CODE) ? facts : rest
}

/** Deletes alarms older than 60 days. If the problem persists, a new alarm is raised. */
export async function forgetOldAlarms (db: Database): Promise<void> {
  await deleteInBatches(db, allarmi, lt(allarmi.quando, sql`now() - interval '60 days'`))
}

/** Adds to an alarm the bookings of its submission, if known. */
async function withBookings (db: Executor, facts: AlarmFacts): Promise<AlarmFacts> {
  if (facts.invio === undefined || facts.prenotazione !== undefined || facts.prenotazioni !== undefined) return facts
  const { prenotazione_id } = schedine
  const found = await db.selectDistinct({ prenotazione_id }).from(schedine)
    .where(and(eq(schedine.invio_id, facts.invio), isNotNull(prenotazione_id))).orderBy(asc(prenotazione_id))
  const prenotazioni = found.flatMap(({ prenotazione_id: id }) => id ?? [])
  return prenotazioni.length === 0 ? facts : { ...facts, prenotazioni }
}

function matterOf (kind: AlarmKind, facts: AlarmFacts, mode: string): string {
  const parts = kindOf(kind).identifiedBy.flatMap((name) => facts[name] === undefined ? [] : [`${name}=${facts[name]}`])
  return [mode, kind, ...parts].join(' ')
}

/** Raises the alarm that `DATA_DIR` is not writable, if `err` is about that folder. */
export async function alarmFolder (
  { alarm, name }: { alarm: RaiseAlarm, name: string }, err: unknown
): Promise<void> {
  if (!(err instanceof HeadFileError)) return
  const { cause } = err
  // Only the error code, because system messages contain paths.
  const errore = cause instanceof Error && 'code' in cause ? OWN_CODE + String(cause.code) : undefined
  await alarm('unwritable-folder', { macchina: name.split('/')[0], errore })
}
