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

export interface AlarmCase extends AlarmFacts {
  /** The day that it counts for; today's when it is not given. The same matter is raised once for each day. */
  on?: Day
}

/**
 * Raises an alarm: a line at error level for each case, and one mail to each recipient. A matter that was raised for
 * the same day, by whichever process, is left out. It never fails: what cannot be written down is logged all the same.
 */
export type RaiseAlarm = (kind: AlarmKind, ...cases: readonly AlarmCase[]) => Promise<void>

export interface BellOptions {
  db: Database
  clock: Clock
  log: Pick<FastifyBaseLogger, 'error'>
  /** Whether an error comes of a full disk: then the log says so already. */
  isTold?: (err: unknown) => boolean
  mail: Pick<Mailer, 'enqueue' | 'deliver'>
  /** E-mail addresses; without any, the log alone tells. */
  recipients: readonly string[]
  mode: 'sandbox' | 'production'
}

export function alarmBell ({ db, clock, log, isTold, mail, recipients, mode }: BellOptions): RaiseAlarm {
  /** @returns the cases that are new */
  function writeDown (kind: AlarmKind, cases: readonly AlarmCase[]): Promise<AlarmFacts[]> {
    return db.transaction(async (tx) => {
      const fresh: AlarmFacts[] = []
      for (const { on = clock.today(), ...facts } of cases) {
        const added = await tx.insert(allarmi).values({ argomento: matterOf(kind, facts, mode), giorno: on })
          .onConflictDoNothing().returning({ giorno: allarmi.giorno })
        if (added.length > 0) fresh.push(await withBookings(tx, facts))
      }
      if (fresh.length === 0) return fresh
      for (const to of recipients) await mail.enqueue(tx, { to, ...alarmMail(kind, fresh, mode) })
      return fresh
    })
  }

  return async (kind, ...cases) => {
    if (cases.length === 0) return
    let fresh: readonly AlarmFacts[] = cases.map(({ on, ...facts }) => facts)
    try {
      fresh = await writeDown(kind, cases)
      mail.deliver()
    } catch (err) {
      if (!isTold?.(err)) log.error({ err, allarme: kind }, 'an alarm could not be written down, and is not mailed')
    }
    for (const facts of fresh) log.error(facts, kindOf(kind).message)
  }
}

/** Forgets what was raised more than 60 days ago: what is still so is raised again. */
export async function forgetOldAlarms (db: Database): Promise<void> {
  await deleteInBatches(db, allarmi, lt(allarmi.quando, sql`now() - interval '60 days'`))
}

/** What is told of a submission names its bookings, where they are known. */
async function withBookings (db: Executor, facts: AlarmFacts): Promise<AlarmFacts> {
  if (facts.invio === undefined || facts.prenotazione !== undefined || facts.prenotazioni !== undefined) return facts
  const { prenotazione_id } = schedine
  const found = await db.selectDistinct({ prenotazione_id }).from(schedine)
    .where(and(eq(schedine.invio_id, facts.invio), isNotNull(prenotazione_id))).orderBy(asc(prenotazione_id))
  const prenotazioni = found.flatMap(({ prenotazione_id: id }) => id ?? [])
  return prenotazioni.length === 0 ? facts : { ...facts, prenotazioni }
}

function matterOf (kind: AlarmKind, facts: AlarmFacts, mode: string): string {
  const told = kindOf(kind).tells.flatMap((name) => facts[name] === undefined ? [] : [`${name}=${facts[name]}`])
  return [mode, kind, ...told].join(' ')
}

/** Raises the alarm that the folder of data of this server takes no writes, if that is the error. */
export async function alarmFolder (
  { alarm, name }: { alarm: RaiseAlarm, name: string }, err: unknown
): Promise<void> {
  if (!(err instanceof HeadFileError)) return
  const { cause } = err
  // The code alone: the message of the system names paths.
  const errore = cause instanceof Error && 'code' in cause ? `codice ${String(cause.code)}` : undefined
  await alarm('unwritable-folder', { macchina: name.split('/')[0], errore })
}
