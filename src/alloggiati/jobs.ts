import type { FastifyInstance } from 'fastify'
import type { Keys } from '#src/lib/secrets.ts'
import type { ChainHead } from '#src/plugins/database/chain-head.ts'
import { ledgerAlarms } from './ledger/alarms.ts'
import type { LedgerContext } from './ledger/context.ts'
import { eraseRecords } from './ledger/erasure.ts'
import { reconcileDays } from './ledger/reconcile/job.ts'
import { verifyLedger } from './ledger/seals/verify.ts'
import { sweep } from './ledger/sweep.ts'
import type { ReceiptArchive } from './receipts/archive.ts'
import { downloadTable } from './service/calls.ts'
import type { TablesSource } from './tables/source.ts'

interface Records { keys: Keys, chainHead: ChainHead, eraseAfterDays: number }
interface Parts { ledger: LedgerContext, archive: ReceiptArchive, tables: TablesSource }

/** The recurring work on what is written down, whether the police service can be reached or not. */
export function addRecordJobs (app: FastifyInstance, { keys, chainHead, eraseAfterDays }: Records): void {
  const { db, log } = app

  app.addJob({
    name: 'ledger-verification',
    description: 'Controlla che nel registro degli invii niente sia stato alterato',
    cron: '40 3 * * *',
    run: async () => {
      const { integra, invii_errati, prima_riga_errata } = await verifyLedger(db, keys, chainHead)
      if (integra) return
      const about = { invii_errati, ...prima_riga_errata }
      log.error(about, 'the submission ledger was altered: see GET /api/v1/invii/verifica')
    }
  })
  app.addJob({
    name: 'record-erasure',
    description: 'Cancella le schedine cifrate degli invii conclusi da tempo; ricevute e storia restano',
    cron: '20 3 * * *',
    run: async () => {
      const { submissions, rows } = await eraseRecords(db, eraseAfterDays)
      if (submissions > 0) log.info({ invii: submissions, righe: rows }, 'the records of ended submissions were erased')
    }
  })
}

/** The recurring work of a server that can reach the police service. */
export function addAlloggiatiJobs (app: FastifyInstance, { ledger, archive, tables }: Parts): void {
  const { service } = ledger

  app.addJob({
    name: 'receipts',
    description: 'Scarica le ricevute mancanti degli ultimi 30 giorni',
    cron: '30 6 * * *',
    run: archive.fetchMissing
  })
  app.addJob({
    name: 'code-tables',
    description: 'Scarica le tabelle dei codici di Alloggiati Web',
    cron: '10 4 * * *',
    run: () => tables.refresh((tipo) => downloadTable(service, tipo))
  })

  // What guards the ledger is run by every process: one that hangs must not keep the others from it, and twice does no
  // harm. Processes may have different accounts, too, of which each looks after its own.
  app.addJob({
    name: 'ledger-sweep',
    description: 'Riprende gli invii lasciati da un processo morto ed esegue quelli pronti',
    cron: '*/30 * * * * *',
    everyProcess: true,
    atStart: true,
    run: () => sweep(ledger)
  })
  app.addJob({
    name: 'reconciliation',
    description: 'Confronta gli invii degli ultimi 30 giorni con le ricevute della Polizia',
    cron: '0 6-23 * * *',
    everyProcess: true,
    run: () => reconcileDays(ledger, archive)
  })
  app.addJob({
    name: 'ledger-alarms',
    description: 'Segnala nel log le scadenze di legge vicine e le ricevute che mancano',
    cron: '*/5 * * * *',
    // A run compares with the one before it in the same process.
    everyProcess: true,
    run: ledgerAlarms(ledger).raise
  })
}
