import type { FastifyInstance } from 'fastify'
import { ledgerAlarms } from './ledger/alarms.ts'
import type { LedgerContext } from './ledger/context.ts'
import { reconcileDays } from './ledger/reconcile/job.ts'
import { sweep } from './ledger/sweep.ts'
import type { ReceiptArchive } from './receipts/archive.ts'
import { downloadTable } from './service/calls.ts'
import type { TablesSource } from './tables/source.ts'

interface Parts { ledger: LedgerContext, archive: ReceiptArchive, tables: TablesSource }

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
