import { randomBytes, randomUUID } from 'node:crypto'
import pino from 'pino'
import type { Test } from 'tap'
import { alarmNotifier } from '#src/alloggiati/ledger/alarms/alarm-notifier.ts'
import { noUnits } from './context.ts'
import { SendQueue, ledgerChainHead, type LedgerContext } from '#src/alloggiati/ledger/ledger-context.ts'
import { serverTimeline } from '#src/alloggiati/ledger/timeline.ts'
import { reserve, type Reserved, type Submission } from '#src/alloggiati/ledger/reserve.ts'
import { validate } from '#src/alloggiati/rules/validate.ts'
import { policeService } from '#src/alloggiati/service/police-service.ts'
import { readConfig } from '#src/config/config.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { auditLog } from '#src/services/audit/log.ts'
import { tables } from '#test/alloggiati/rules/samples.ts'
import { CREDENTIALS, productionEnviron, standIn } from '#test/alloggiati/stand-in.ts'
import { testClock } from '#test/clock.ts'
import { testDatabase } from '#test/database.ts'
import { temporaryFolder, writtenWith } from '#test/helper.ts'

/** Optional properties of a submission, which have defaults. */
export type More = Partial<Pick<Submission, 'account' | 'id_appartamento'>>

/**
 * The ledger with its own database and a police stand-in on loopback. Without a server no job runs. For the ledger,
 * each `worker` is a separate process.
 */
export async function ledgerHarness (t: Test) {
  const police = await standIn(t)
  const { db, sql, url } = await testDatabase(t)
  const dataDir = temporaryFolder(t)
  const masterKey = randomBytes(32)
  writtenWith(url, masterKey)
  const keys = createKeys(masterKey)
  const clock = testClock()
  const logs: Record<string, unknown>[] = []
  const log = pino(
    { level: 'info' },
    {
      write: (line: string) => {
        logs.push(JSON.parse(line) as Record<string, unknown>)
      }
    }
  )

  const audit = auditLog(log)

  return {
    police,
    db,
    sql,
    /** The shape that `emptied` needs. */
    app: { sql },
    dataDir,
    url,
    logs,
    async worker (changes: Partial<LedgerContext> = {}): Promise<LedgerContext> {
      const config = readConfig({ DATA_DIR: dataDir, ...productionEnviron(police) })
      const { service } = await policeService({ config, keys, clock, db, log })
      const notifier = { db, clock, log, recipients: [], mode: 'production' as const }
      return {
        ...notifier,
        alarm: alarmNotifier({
          ...notifier,
          mail: { enqueue: async () => { throw new Error('no mail') }, deliver () {} }
        }),
        db,
        keys,
        clock,
        service: service!,
        sendQueue: new SendQueue(),
        chainHead: ledgerChainHead(dataDir),
        timeline: serverTimeline(),
        audit,
        log,
        beforeReady: [],
        accountOf: noUnits,
        name: `prova/${randomUUID()}`,
        ...changes
      }
    },
    /** The chain head in another folder. */
    headIn: (folder: string) => ledgerChainHead(folder),
    reserve: (ospiti: readonly object[], more: More = {}, changes: Partial<Pick<LedgerContext, 'db' | 'audit'>> = {}) =>
      reserve(
        { db, keys, clock, mode: 'production', audit, beforeReady: [], accountOf: noUnits, ...changes },
        submissionOf(ospiti, more)
      ),
    /** Expires the lease of one submission, or the leases of all. */
    expire: async (one?: Reserved) => {
      await sql`
        update invii set lease_fino_al = now() - interval '1 second'
        where id = ${one?.id ?? null} or ${one === undefined}`
    },
    /** The state and row outcomes of all submissions in order: `stato/esito,esito`. */
    states: async () =>
      (
        await sql<{ state: string }[]>`
      select i.stato || '/' || string_agg(s.esito, ',' order by s.indice) as state
      from invii i join invii_schedine s on s.invio_id = i.id group by i.id order by i.id`
      ).map(({ state }) => state)
  }
}

/** A submission of guests who arrive today. */
function submissionOf (
  ospiti: readonly object[],
  { account = CREDENTIALS.ALLOGGIATI_UTENTE, id_appartamento }: More
): Submission {
  const today = testClock().today()
  const soggiorno = { check_in: today, numero_notti: 3, id_appartamento }
  const { accepted, errors } = validate({ ospiti, soggiorno, tables, today })
  if (accepted === null) throw new Error(JSON.stringify(errors))
  const { records, lines, leaders } = accepted
  return {
    account,
    operatore: 'prova',
    ip: '192.0.2.7',
    metodo: 'Send',
    records,
    lines,
    leaders,
    id_appartamento,
    prenotazione_id: null
  }
}
