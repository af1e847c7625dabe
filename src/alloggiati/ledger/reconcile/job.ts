import type { FastifyInstance } from 'fastify'
import { sql } from 'drizzle-orm'
import { addDays, daysBetween, type Clock, type Day } from '#src/lib/time.ts'
import { receipts, WINDOW_DAYS, type Archive } from '../../receipts/archive.ts'
import { AlloggiatiCredentialsError, SoapTransportError } from '../../service/soap/errors.ts'
import { ledgerAlarms } from '../alarms.ts'
import type { LedgerContext } from '../context.ts'
import { addLedgerGauges } from '../gauges.ts'
import { completeFrom, LOOKS_APART_MS, type Look } from './day.ts'
import { looksAt } from './read.ts'
import { reconcile } from './reconcile.ts'
import { ALARMS } from './texts.ts'

/** Days so old are asked for by the nightly job alone. */
const YOUNG_DAYS = 2

/** A day with something left to prove. */
export interface OpenDay {
  giorno: Day
  /** Its receipt is in the store. */
  kept: boolean
  /** An attempt's outcome is unknown, or rests on a person's word. */
  open: boolean
}

/** The recurring work of the ledger's second half: reconciliation from six in the morning on, alarms, gauges. */
export function registerReconciliation (app: FastifyInstance, context: LedgerContext): void {
  const archive = receipts(context.db, context.service, context.clock)
  const alarms = ledgerAlarms(context)
  app.addJob({ name: 'reconciliation', cron: '0 6-23 * * *', run: () => reconcileDays(context, archive) })
  app.addJob({ name: 'ledger-alarms', cron: '*/5 * * * *', run: alarms.raise })
  addLedgerGauges(app, context)
}

/** Looks at the receipts that are due, and reconciles every day of the last 30 that is not through yet. */
export async function reconcileDays (context: LedgerContext, archive: Archive): Promise<void> {
  const { db, service, clock, log } = context
  let reachable = true
  for (const day of await openDays(context)) {
    const { giorno } = day
    if (reachable && isDue(day, await looksAt(db, service.account, giorno), clock)) {
      reachable = await lookAt(context, archive, giorno)
    }
    try {
      await reconcile(context, giorno)
    } catch (err) {
      log.error({ err, giorno }, 'a day could not be reconciled')
    }
  }
}

/** @returns false when the service cannot be asked: then the other days are not asked for either */
async function lookAt ({ log }: LedgerContext, archive: Archive, giorno: Day): Promise<boolean> {
  try {
    if ((await archive.look(giorno)).differs) log.error({ giorno }, ALARMS.changed)
    return true
  } catch (err) {
    if (!(err instanceof SoapTransportError || err instanceof AlloggiatiCredentialsError)) throw err
    log.warn({ err, giorno }, 'the receipt could not be asked for')
    return false
  }
}

/**
 * Whether to ask for a day's receipt now: while there is none, and, when something is unknown, until two looks hours
 * apart have seen one. Further looks would prove nothing more.
 */
export function isDue ({ giorno, kept, open }: OpenDay, looks: readonly Look[], clock: Clock): boolean {
  const now = clock.now()
  const counting = looks.filter(({ letta_il }) => letta_il >= completeFrom(giorno))
  const last = counting.at(-1)
  if (now < completeFrom(giorno) || (last && apart(last.letta_il, now) < LOOKS_APART_MS)) return false
  const seen = counting.filter(({ available }) => available)
  if (seen.length === 0 && !kept) return daysBetween(giorno, clock.today()) <= YOUNG_DAYS
  return open && (seen.length === 0 || apart(seen[0]!.letta_il, seen.at(-1)!.letta_il) < LOOKS_APART_MS)
}

function apart (from: Date, to: Date): number {
  return to.getTime() - from.getTime()
}

/** The days of the last 30, today excluded, with an attempt that is unknown, or acquired and not yet receipted. */
export async function openDays ({ db, service, clock }: LedgerContext): Promise<OpenDay[]> {
  const first = addDays(clock.today(), -WINDOW_DAYS)
  const last = addDays(clock.today(), -1)
  const rows = await db.execute<OpenDay & Record<string, unknown>>(sql`
    select d.giorno::date::text as giorno, bool_or(r.giorno is not null) as kept, bool_or(e.esito is null or e.fonte = 'decisione') as open
    from invii i
    join invii_tentativi t on t.invio_id = i.id and t.giorno_da between ${addDays(first, -1)}::date and ${last}::date
    cross join lateral generate_series(t.giorno_da, t.giorno_a, interval '1 day') as d (giorno)
    left join invii_esiti e on e.invio_id = t.invio_id and e.numero = t.numero and e.esito in ('K', 'N')
    left join ricevute r on r.utente = i.utente and r.giorno = d.giorno::date
    where i.utente = ${service.account} and d.giorno between ${first}::date and ${last}::date
    group by d.giorno
    having bool_or(e.esito is null) or bool_or(e.esito = 'K' and (r.giorno is null or i.stato in ('acquisito', 'parziale')))
    order by d.giorno`)
  return [...rows]
}
