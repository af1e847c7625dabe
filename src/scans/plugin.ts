import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import type { Transaction } from '#src/database/connect.ts'
import { scanHolding } from './scan-holding.ts'
import { discardScans } from './scan-pictures.ts'
import { scanRepository } from './repository.ts'
import { scanRetention } from './scan-retention.ts'
import { scanRoutes } from './routes.ts'

interface ScansOptions { config: Config, keys: Keys, clock: Clock }

/** Scans of documents that people keep. They go with their guest, and with their booking. */
const scans: FastifyPluginAsyncTypebox<ScansOptions> = async (app, { config, keys, clock }) => {
  const { storage, forgetAnswers } = app
  const repository = scanRepository(keys)
  const retention = scanRetention(app, repository, { config, keys, clock })

  app.addHolding(scanHolding({ storage, repository, retention }))
  app.addJob({
    name: 'scan-retention',
    description: 'Elimina le scansioni dei documenti alla scadenza delle immagini, e quelle di nessun ospite',
    cron: '20 3 * * *',
    run: retention.purge
  })
  app.addBookingHook('beforeDelete', async (tx, ids) => discard(tx, await repository.idsOf(tx, ids)))
  app.addBookingHook('guestsRemoved', async (tx, booking, removed) => {
    await discard(tx, await repository.idsOf(tx, [booking], removed))
    // The answer that made a guest of a scan holds all of the guest.
    const said = `"prenotazione_id":(\\d+),"guest_idx":(?:${removed.join('|')}),`
    if (removed.length > 0) await forgetAnswers(tx, { said, names: [booking], isReusable: true })
  })

  async function discard (tx: Transaction, ids: readonly number[]): Promise<void> {
    await discardScans({ storage, repository, forgetAnswers }, tx, ids)
  }

  await app.register(scanRoutes, { repository, retention, clock })
}
export default scans
