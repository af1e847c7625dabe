import { randomUUID } from 'node:crypto'
import { alarmNotifier } from '#src/alloggiati/ledger/alarms/alarm-notifier.ts'
import { SendQueue, ledgerChainHead, type LedgerContext } from '#src/alloggiati/ledger/ledger-context.ts'
import { serverTimeline } from '#src/alloggiati/ledger/timeline.ts'
import { policeService } from '#src/alloggiati/service/police-service.ts'
import { readConfig } from '#src/config/config.ts'
import { createKeys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import { productionEnviron } from '#test/alloggiati/stand-in.ts'
import { testClock } from '#test/clock.ts'
import type { TestApp } from '#test/helper.ts'

/** The ledger context of another process on the application's database, with a police stand-in. */
export async function ledgerOf (
  { app, dataDir, url, masterKey: MASTER_KEY }: Pick<TestApp, 'app' | 'dataDir' | 'url'> & { masterKey?: string },
  police: { endpoint: string },
  clock: Clock = testClock()
): Promise<LedgerContext> {
  const config = readConfig({ DATA_DIR: dataDir, DATABASE_URL: url, MASTER_KEY, ...productionEnviron(police) })
  const keys = createKeys(config.MASTER_KEY)
  const { service } = await policeService({ config, keys, clock, db: app.db, log: app.log })
  const { db, log } = app
  const mode = 'production' as const
  return {
    alarm: alarmNotifier({ db, clock, log, mail: app.mail, recipients: [], mode }),
    mode,
    db: app.db,
    keys,
    clock,
    service: service!,
    sendQueue: new SendQueue(),
    chainHead: ledgerChainHead(dataDir),
    timeline: serverTimeline(),
    audit: app.audit,
    log: app.log,
    beforeReady: [],
    accountOf: noUnits,
    name: `prova/${randomUUID()}`
  }
}

/** No booking has a unit, so none belongs to another account. */
export const noUnits: LedgerContext['accountOf'] = async () => () => ({ account: undefined, missing: 'unita' })

/** Expires the lease of one submission, or the leases of all. */
export async function expire ({ app }: Pick<TestApp, 'app'>, id?: number): Promise<void> {
  await app.sql`
    update invii set lease_fino_al = now() - interval '1 second'
    where id = ${id ?? null} or ${id === undefined}`
}
