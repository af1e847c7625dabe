import type { FastifyInstance } from 'fastify'
import type { ChainHead } from '#src/database/chain-head.ts'
import type { Account, PoliceAccounts } from './accounts/police-accounts.ts'
import { forgetOldAlarms, type NotifierOptions } from './ledger/alarms/alarm-notifier.ts'
import { mailEveningSummary, raiseTimedAlarms } from './ledger/alarms/timed-alarms.ts'
import type { WatchContext } from './ledger/ledger-context.ts'
import { eraseRecords } from './ledger/ledger-personal-data.ts'
import { endExpired, sweep } from './ledger/sweep.ts'
import { reconcileDays } from './ledger/reconcile/reconcile-day.ts'
import { verifyLedger } from './ledger/verify-ledger.ts'
import { downloadTable } from './service/calls.ts'
import type { TablesSource } from './tables/tables-source.ts'

interface Records { chainHead: ChainHead, eraseAfterDays: number, watch: Pick<WatchContext, 'alarm'> }
interface ServiceParts { accounts: PoliceAccounts, tables: TablesSource }

export function addRecordJobs (app: FastifyInstance, { chainHead, eraseAfterDays, watch }: Records): void {
  const { db, log } = app

  app.addJob({
    name: 'ledger-verification',
    description: 'Controlla che nel registro degli invii niente sia stato alterato',
    cron: '40 3 * * *',
    run: async () => {
      const { integra, invii_errati, prima_riga_errata } = await verifyLedger(db, chainHead)
      if (integra) return
      const about = { invii_errati, ...prima_riga_errata }
      log.error(about, 'the submission ledger was altered: see GET /api/v1/invii/verifica')
      await watch.alarm('broken-chain', {})
    }
  })
  app.addJob({
    name: 'record-erasure',
    description: 'Cancella le schedine cifrate degli invii conclusi da tempo; ricevute e storia restano',
    cron: '20 3 * * *',
    run: async () => {
      const { submissions, rows } = await eraseRecords(db, eraseAfterDays)
      if (submissions > 0) log.info({ submissions, records: rows }, 'the records of ended submissions were erased')
    }
  })
}

/** Runs work for each account, even if it fails for another account. @throws the first failure, at the end */
async function forEachAccount (accounts: PoliceAccounts, work: (account: Account) => Promise<unknown>): Promise<void> {
  const done = await Promise.allSettled((await accounts.read()).accounts.map(work))
  const failed = done.find((each) => each.status === 'rejected')
  if (failed) throw failed.reason
}

export function addServiceJobs (app: FastifyInstance, { accounts, tables }: ServiceParts): void {
  app.addJob({
    name: 'receipts',
    description: 'Scarica le ricevute mancanti degli ultimi 30 giorni',
    cron: '30 6 * * *',
    run: () => forEachAccount(accounts, ({ archive }) => archive.fetchMissing())
  })
  app.addJob({
    name: 'due-receipts',
    description: 'Scarica le ricevute dei giorni con invii, appena la Polizia le può dare',
    cron: '15 * * * *',
    run: () => forEachAccount(accounts, ({ archive }) => archive.fetchDue())
  })
  app.addJob({
    name: 'code-tables',
    description: 'Scarica le tabelle dei codici di Alloggiati Web',
    cron: '10 4 * * *',
    async run () {
      const [account] = (await accounts.read()).accounts
      if (account) await tables.refresh((tipo) => downloadTable(account.ledger.service, tipo))
    }
  })
}

interface WatchParts {
  watch: WatchContext & Pick<NotifierOptions, 'mail' | 'recipients'>
  accounts: PoliceAccounts
}

/**
 * Adds the jobs that watch the ledger, which also run without credentials. Most jobs run in every process, because each
 * process handles only its own mode. The jobs are idempotent.
 */
export function addWatchJobs (app: FastifyInstance, { watch, accounts }: WatchParts): void {
  // Without credentials the server sends no guest, but it still recovers submissions of killed processes.
  app.addJob({
    name: 'ledger-sweep',
    description: 'Riprende gli invii lasciati da un processo morto ed esegue quelli pronti',
    cron: '*/30 * * * * *',
    everyProcess: true,
    atStart: true,
    async run () {
      const { names, accounts: usable } = await accounts.read()
      if (names.length === 0) return await endExpired(watch)
      await sweep(accounts.base, { names, ledgers: usable.map(({ ledger }) => ledger) })
    }
  })
  app.addJob({
    name: 'reconciliation',
    description: 'Confronta gli invii degli ultimi 30 giorni con le ricevute della Polizia',
    cron: '0 6-23 * * *',
    everyProcess: true,
    run: async () => reconcileDays(watch, ...(await accounts.read()).accounts.map(({ archive }) => archive))
  })
  app.addJob({
    name: 'receipts-read-again',
    description: 'Rilegge le ricevute conservate di cui non si leggevano i totali',
    cron: '20 5 * * *',
    everyProcess: true,
    atStart: true,
    run: accounts.withoutAccount.readAgain
  })
  app.addJob({
    name: 'ledger-alarms',
    description: 'Segnala le scadenze di legge vicine, le ricevute che mancano e gli invii da decidere',
    cron: '*/5 * * * *',
    everyProcess: true,
    run: () => raiseTimedAlarms(watch)
  })
  app.addJob({
    name: 'evening-summary',
    description: 'Manda per e-mail ciò che la sera resta da comunicare alla Polizia',
    cron: '0 20 * * *',
    everyProcess: true,
    run: () => mailEveningSummary(watch)
  })
  app.addJob({
    name: 'old-alarms',
    description: 'Dimentica gli allarmi di più di 60 giorni fa',
    cron: '47 3 * * *',
    run: () => forgetOldAlarms(watch.db)
  })
}
